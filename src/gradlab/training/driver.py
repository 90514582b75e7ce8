"""The one way that a training is built: for recipes, `fit`, estimators, studies and benchmarks alike."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from gradlab import parallel
from gradlab.data import Examples, Stream
from gradlab.data.batch import moved
from gradlab.data.graphs.preparation import GraphExamples
from gradlab.models.cost import Cost, parameter_cost, pass_cost
from gradlab.nn.layout import channels_last
from gradlab.tasks import Task
from gradlab.training.capture import Mode, choose_mode, require_fast
from gradlab.training.carry import check_carry
from gradlab.training.checks import check_plan, check_precision, check_processes, settle_precision
from gradlab.training.compiled import repeated_layers
from gradlab.training.environment import choose_threads, settings
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan
from gradlab.training.players import Groups
from gradlab.training.together import synchronise

Split = Examples | Stream

_FITTED = 5000  # examples: a large enough sample of all


@contextmanager
def training(
    model: nn.Module,
    task: Task,
    train: Split,
    validation: Any,
    plan: Plan,
    *,
    threads: int | None = None,
    mode: Mode | None = None,
    steps: int | None = None,
    rate: Callable[[int], float] | None = None,
    groups: Groups | None = None,
    masks: Mapping[str, Tensor] | None = None,
    observers: Sequence[Observer] = (),
) -> Iterator[Training]:
    """A training with torch's settings (seeds, threads, determinism) as its plan wants them, until it is left.

    Targets are encoded, and everything is on the device of the training data. Threads and mode follow from the plan
    unless an earlier choice is repeated; `steps` and `rate` are the length and the learning rate by step, where those
    of the plan are not wanted. `masks` are those of pruned weights, by the names of the parameters.
    """
    plan = settle_precision(plan, train.device)
    check(model, train, validation, plan)
    fit_inputs(model, train)
    parallel.same_weights(model)
    if train.device.type == "cuda":
        channels_last(model)
    if plan.sync_batch_norm and parallel.count() > 1:
        synchronise(model)
    if threads is None or mode is None:
        cost = example_cost(model, task, train)
        threads = threads or choose_threads(plan, product_flops(cost, train, plan))
        mode = mode or mode_of(model, train, plan, cost, steps=steps)
    with settings(train.device, threads, plan):
        yield Training(
            model,
            task,
            train,
            validation,
            plan,
            mode=mode,
            steps=steps,
            rate=rate,
            groups=groups,
            masks=masks,
            observers=observers,
        )


def check(model: nn.Module, train: Split, validation: Any, plan: Plan) -> None:
    """Refuse what would fail in the training."""
    check_precision(plan, train.device)
    sizes = plan.batch_sizes(len(train)) if isinstance(train, Examples) else []
    if plan.carry:
        check_carry(plan, model, train)
    check_plan(plan, model, total_steps(train, plan), sizes, len(validation) if validation is not None else 0)
    check_processes(plan, model, sizes)


def fit_inputs(model: nn.Module, train: Split) -> None:
    """Let a model take from the training examples what it does not learn: once, before its first step.

    It says so by a method `fit_inputs(inputs)`, which leaves alone what was fitted before.
    """
    if hasattr(model, "fit_inputs") and isinstance(train, Examples):
        model.fit_inputs(train.inputs[: min(len(train), _FITTED)])  # type: ignore[operator]


def total_steps(train: Split, plan: Plan) -> int:
    """How long the plan makes a training on these data."""
    return plan.total_steps(steps_per_epoch(train, plan))


def steps_per_epoch(train: Split, plan: Plan) -> int:
    return plan.steps_per_epoch(len(train)) if isinstance(train, Examples) else train.steps_per_epoch


def mode_of(
    model: nn.Module,
    train: Split,
    plan: Plan,
    example: Cost,
    *,
    device: torch.device | None = None,
    steps: int | None = None,
) -> Mode:
    """How the step of a training runs, by its plan, its length, its device and the work that its layers do.

    `steps` and `device` are those of the training, where they are not the plan's and that of the data.
    """
    if isinstance(train, GraphExamples):  # each batch is a graph of its own, with edges of its own
        return require_fast(plan, "eager", "each batch of graphs has edges of its own")
    if parallel.count() > 1:
        return require_fast(plan, "eager", "several processes train together")
    steps = steps or total_steps(train, plan)
    # Forward and, twice as much, backward. Texts of many lengths would be compiled for each of them.
    fixed = isinstance(train, Examples) and train.together and repeated_layers(model)
    flops = 3 * example.flops * plan.examples_per_step(len(train)) * steps if fixed else 0  # type: ignore[arg-type]
    return choose_mode(plan, device or train.device, steps, flops)


def product_flops(example: Cost, train: Split, plan: Plan) -> float:
    """Floating-point operations of a mean product of a step in this process, given a pass forward for one example.

    Those of the backward pass are as large: for each product one for the inputs, one for the weights. The parts of a
    batch are worked on one after the other.
    """
    examples = plan.examples_per_step(len(train)) if isinstance(train, Examples) else max(1, train.batch_size)
    return example.flops * examples / (max(1, example.products) * plan.accumulate * parallel.count())


def example_cost(model: nn.Module, task: Task, train: Split) -> Cost:
    """Floating-point operations of a forward pass for one example, and its products.

    Of a stream nothing is read before its time: each weight is then taken to be used once.
    """
    if not isinstance(train, Examples):
        return parameter_cost(model)
    device = next(iter([*model.parameters(), *model.buffers()]), torch.zeros(())).device
    batch = moved(train.batch(slice(0, 1)), device)
    # With gradients, since a loss may ask for some inside of it.
    return pass_cost(model, torch.enable_grad()(lambda: task.forward(model, batch)))
