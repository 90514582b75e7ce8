"""From a recipe to a finished run folder."""

import signal
import threading
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gradlab.data import Dataset, Examples, load, sources
from gradlab.errors import GradlabError, Interrupted, is_out_of_memory, notice, one_line
from gradlab.models import build_model, models
from gradlab.probes import forward_flops, parameter_count
from gradlab.recipe import Recipe
from gradlab.run import Run
from gradlab.run.checkpoint import newest_sound
from gradlab.run.folder import new_path
from gradlab.tasks import Classify, Task, calibrate, compare, evaluate, predict, settled, tasks, wants
from gradlab.training.capture import Mode, choose_mode
from gradlab.training.checks import check_carry, check_causal, check_plan, check_precision
from gradlab.training.checkup import Checkup
from gradlab.training.environment import choose_threads, describe_environment, settings
from gradlab.training.loop import Training
from gradlab.training.observers import Checkpoints, MetricsLog, Observer
from gradlab.training.plan import Plan, plan_schema

_GLANCE = 256  # examples that tell enough about a fresh model


def resolve(recipe: Recipe) -> Recipe:
    """The recipe with every knob filled in and checked."""
    if recipe.task.name == "auto" and recipe.task.values:
        key = next(iter(recipe.task.values))
        raise GradlabError(
            f"The targets decide the task, so that it has no key {key!r} yet. Name it first: task=classify"
        )
    data = sources.resolve(recipe.data, "data")
    if data.values.get("path") is not None:
        data = replace(data, values={**data.values, "path": str(Path(data.values["path"]).absolute())})
    return replace(
        recipe,
        data=data,
        model=models.resolve(recipe.model, "model"),
        task=tasks.resolve(recipe.task, "task"),
        train=plan_schema.resolve(recipe.train, "train"),
    )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything built and checked, before the first step: what will be trained, on what, how."""

    recipe: Recipe
    dataset: Dataset
    task: Task
    model: nn.Module
    plan: Plan
    device: torch.device
    mode: Mode
    threads: int
    flops: int

    @classmethod
    def of(cls, recipe: Recipe, device: torch.device, threads: int | None = None) -> "Experiment":
        """Read the data and build the model. `threads` repeats the choice of an earlier run."""
        recipe = resolve(recipe)
        plan = Plan(**recipe.train)
        check_precision(plan, device)
        dataset = load(recipe.data, wants(recipe.task))
        recipe = replace(recipe, task=settled(recipe.task, dataset.targets))
        task = tasks.build(recipe.task, dataset.targets)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(plan.seed)
            model = build_model(recipe.model, dataset.preprocessing.spec, task.outputs, data=recipe.data.name)
        for split in ("train", "validation", "test"):
            task.encode(dataset.split(split).targets)  # which refuses targets that the task cannot learn
        flops = _first_pass(recipe, model, task, dataset)
        check_causal(model, task, dataset.train)
        examples = len(dataset.train)
        # What would fail in the training is refused before there is a run folder.
        check_carry(plan, model, dataset.train)
        check_plan(plan, model, examples, len(dataset.validation))
        # The backward pass costs about twice the forward one: a product for the inputs, one for the weights.
        step_flops = 3.0 * flops * plan.examples_per_step(examples)
        return cls(
            recipe=recipe,
            dataset=dataset,
            task=task,
            model=model.to(device),
            plan=plan,
            device=device,
            mode=choose_mode(plan, device, plan.total_steps(examples)),
            threads=threads or choose_threads(plan, step_flops),
            flops=flops,
        )

    @property
    def parameters(self) -> int:
        return parameter_count(self.model)

    @property
    def steps(self) -> int:
        return self.plan.total_steps(len(self.dataset.train))

    def initial_loss(self) -> float:
        """The loss of the fresh model on some training examples."""
        some = self.dataset.train.sample(_GLANCE)
        targets = self.task.encode(some.targets)
        return evaluate(self.model, self.task, some.inputs.to(self.device), targets.to(self.device))["loss"]

    def examples(self, split: str) -> Examples:
        """A split on the device, its targets as the loss takes them."""
        examples = self.dataset.split(split)
        return replace(examples, targets=self.task.encode(examples.targets)).to(self.device)


def _first_pass(recipe: Recipe, model: nn.Module, task: Task, dataset: Dataset) -> int:
    """The operations of a forward pass for one example, if the model can read it and gives what the task needs."""
    one = dataset.train.inputs[:1]
    try:
        flops, given = forward_flops(model, one), tuple(predict(model, one).shape[1:])
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        if is_out_of_memory(error):
            raise
        raise GradlabError(
            f"model={recipe.model.name} cannot read data={recipe.data.name}: {one_line(error)}. Take another model."
        ) from None
    # Of a text, some models answer at each token, and others once: both take the same inputs.
    needed = (*one.shape[1:], task.outputs) if task.wants in ("tokens", "masked") else (task.outputs,)
    if given != needed:
        raise GradlabError(
            f"model={recipe.model.name} gives outputs of shape {given} for an example of data={recipe.data.name}, but "
            f"task={recipe.task.name} needs {needed}. Take another model."
        )
    return flops


def start(experiment: Experiment, out: str | Path | None = None, observers: Sequence[Observer] = ()) -> Run:
    """Train into a new run folder."""
    path = Path(out) if out else new_path(experiment.recipe.name)
    environment = describe_environment(experiment.device, experiment.threads, experiment.mode)
    run = Run.create(path, experiment.recipe, environment, experiment.dataset)
    return _train(experiment, run, observers)


def resume(run: Run, device: torch.device, observers: Sequence[Observer]) -> Run:
    """Go on with a run from its newest sound checkpoint, or from step 0; damage and drift are told."""
    experiment = Experiment.of(run.recipe, device, run.environment["threads"])
    if experiment.dataset.raw.fingerprint() != run.data["fingerprint"]:
        raise GradlabError(f"The data of {run.path} are not the ones it began with. Bring those back to resume it.")
    now = describe_environment(device, experiment.threads, experiment.mode)
    for key in ("gradlab", "python", "torch", "device", "device_name", "step"):
        if now[key] != run.environment[key]:
            notice(f"{key} was {run.environment[key]} when this run began and is {now[key]} now: expect other bits.")
    return _train(experiment, run, observers)


def _train(experiment: Experiment, run: Run, observers: Sequence[Observer]) -> Run:
    plan = experiment.plan
    checkup = Checkup(run.path / "metrics.jsonl") if plan.doctor else None
    keepers = [
        MetricsLog(run.path / "metrics.jsonl", plan.checkpoint_every),
        Checkpoints(run.checkpoints, plan.checkpoint_every, plan.checkpoints),
    ]
    with run.locked(), settings(experiment.device, experiment.threads, plan):
        training = Training(
            experiment.model,
            experiment.task,
            experiment.examples("train"),
            experiment.examples("validation"),
            plan,
            mode=experiment.mode,
            observers=[*observers, *([checkup] if checkup else []), *keepers],
        )
        _restore(training, run)
        with _stopping_on_signals(training), checkup.at_work() if checkup else nullcontext():
            progress = training.run()
        if progress.ended == "interrupted":
            raise Interrupted(f"Stopped and saved at step {progress.step}. Go on with: gradlab resume {run.path}")
        run.result = _figures(experiment, run, training, checkup)
    run.dataset = experiment.dataset  # so that nobody reads it again
    return run


def _restore(training: Training, run: Run) -> None:
    """Stand at the newest sound checkpoint, if there is one."""
    checkpoint, complaints = newest_sound(run.checkpoints)
    for complaint in complaints:
        notice(f"{complaint} Going on from {f'step {checkpoint.step}' if checkpoint else 'the beginning'} instead.")
    if checkpoint is not None:
        try:
            training.restore(checkpoint)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            where = f"{run.checkpoints}/step-{checkpoint.step:08d}"
            raise GradlabError(f"{where} does not fit its recipe. {one_line(error)}") from None


@contextmanager
def _stopping_on_signals(training: Training) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the training after the step it is in, saved; a second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before: dict[int, Any] = {}

    def stop(number: int, frame: types.FrameType | None) -> None:
        training.interrupted = True
        signal.signal(number, before[number])

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)


def _figures(experiment: Experiment, run: Run, training: Training, checkup: Checkup | None) -> dict[str, Any]:
    """What result.json holds; every figure stands beside those of the trivial baselines."""
    task, progress = experiment.task, training.progress
    judged = {split: experiment.examples(split) for split in ("validation", "test")}
    judged = {split: examples for split, examples in judged.items() if len(examples)}
    carry = experiment.plan.carry
    figures = {s: evaluate(experiment.model, task, e.inputs, e.targets, carry=carry) for s, e in judged.items()}
    trivial = task.baselines(training.train, experiment.model) if judged else {}
    baselines = {split: compare(trivial, task, examples) for split, examples in judged.items()}
    to_beat = list(trivial)[-1] if trivial else ""
    calibration: dict[str, Any] = {}
    if isinstance(task, Classify) and "validation" in figures:
        splits = [experiment.examples(split) for split in ("validation", "test")]
        calibration = {"calibration": calibrate(experiment.model, task, *splits)}
    kept = f"best, of step {progress.best_step}" if training.best_weights is not None else "last"
    return {
        "run": str(run.path),
        "recipe": experiment.recipe.name,
        "steps": progress.step,
        "seconds": round(progress.seconds, 3),
        "parameters": experiment.parameters,
        "flops_per_example": experiment.flops,
        "ended": progress.ended,
        "weights": kept + ", averaged" * (training.average is not None),
        "validation": figures.get("validation", {}),
        "test": figures.get("test", {}),
        "baseline": {"name": to_beat, **{s: beside[to_beat] for s, beside in baselines.items()}} if trivial else {},
        "baselines": baselines,
        **calibration,
        **({"findings": [finding.as_json() for finding in checkup.findings]} if checkup else {}),
    }
