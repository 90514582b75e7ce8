"""A model evaluated on a whole split, and applied to new inputs."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

import torch
from torch import Tensor, nn

from gradlab import parallel
from gradlab.data import Batch, Examples
from gradlab.data.batch import sent, size
from gradlab.data.examples import Column, at_once
from gradlab.data.text.windows import STRIPS
from gradlab.errors import TrainingError
from gradlab.nn.modes import evaluating
from gradlab.nn.plain import is_replayable
from gradlab.tasks.metric_values import sum_and_count
from gradlab.tasks.metrics import Sums
from gradlab.tasks.objective import Loss, named, with_sum

if TYPE_CHECKING:
    from gradlab.tasks.task import Supervised, Task

Result = TypeVar("Result")

_ROWS = 4096  # examples at a time: enough to fill any device, small enough for its memory
_NUMBERS = 2**24  # outputs at a time: those of a text are as many as its tokens times the vocabulary
_SEED = 2**31 + 11  # of what evaluations draw; nobody would take it for a training


# Models whose forward, or whose loss, differentiates: they are evaluated with gradients on.
_differentiating: WeakSet[nn.Module] = WeakSet()


@contextmanager
def inference(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients, unless the model cannot compute its outputs without them.

    What a module of the user's computes here it may keep, and use again in training, which tensors of torch's
    inference mode do not allow.
    """
    if model in _differentiating:
        gradients: AbstractContextManager[Any] = torch.enable_grad()
    else:
        known = not isinstance(model, nn.Module) or is_replayable(model)
        gradients = torch.inference_mode() if known else torch.no_grad()
    with gradients, evaluating(model):
        yield


def with_gradients_if_needed(model: Any, compute: Callable[[], Result]) -> Result:
    """What a computation in inference gives; a model that differentiates in its forward is remembered as such."""
    try:
        return compute()
    except RuntimeError as error:
        about_gradients = re.search(r"grad|[Ii]nference tensor", str(error))
        if not about_gradients or not isinstance(model, nn.Module) or model in _differentiating:
            raise
        _differentiating.add(model)
        try:
            return compute()
        except RuntimeError:
            _differentiating.discard(model)
        raise


def evaluate(model: nn.Module, task: "Task", split: Any, *, finished: bool = False) -> dict[str, float]:
    """What a task's evaluation says of a model, which is in evaluation mode and gathers no gradients meanwhile.

    Of a `finished` model that may be more.
    """

    def figures() -> dict[str, float]:
        with in_evaluation(model):
            if not finished:
                return task.evaluate(model, split)
            return task.evaluate_finished(model, split) | task.final_figures(model, split)

    return with_gradients_if_needed(model, figures)


@contextmanager
def in_evaluation(model: nn.Module) -> Iterator[None]:
    """In evaluation mode, without gradients, though a task may ask for some inside of it.

    Random numbers that are drawn meanwhile are the same each time, and those of a training go on afterwards as if
    nothing had been drawn: how often a model is evaluated changes nothing in it.
    """
    with seeded(device_of(model), _SEED), torch.no_grad(), evaluating(model):
        yield


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """Torch's own generators, of the CPU and of a device, at a seed; afterwards they go on where they were."""
    generators = _generators(device)
    states = [generator.get_state() for generator in generators]
    try:
        for generator in generators:
            generator.manual_seed(seed)
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)


def _generators(device: torch.device) -> list[torch.Generator]:
    """Torch's own, from which what is computed on a device may draw."""
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        return [torch.default_generator, torch.cuda.default_generators[index]]
    return [torch.default_generator, *([torch.mps._get_default_mps_generator()] if device.type == "mps" else [])]


def predict(model: nn.Module, inputs: Column, rows: int = _ROWS) -> Tensor:
    """Model outputs for all inputs, in evaluation mode, on the device of the inputs."""
    rows = at_once(rows, inputs)
    parts = (inputs[start : start + rows] for start in range(0, max(1, len(inputs)), rows))

    def outputs(part: Tensor) -> Tensor:
        with inference(model):
            return model(sent(part, device_of(model))).detach().to(part.device)  # type: ignore[no-any-return]

    return torch.cat([with_gradients_if_needed(model, partial(outputs, part)) for part in parts])


def device_of(model: nn.Module) -> torch.device:
    """Where its numbers are; the CPU, if it has none."""
    tensor = next(chain(model.parameters(), model.buffers()), None)
    return tensor.device if tensor is not None else torch.device("cpu")


def evaluate_supervised(
    model: nn.Module, task: "Supervised", examples: Examples, rows: int = _ROWS
) -> dict[str, float]:
    """Loss and every metric over a split: sums on the device, one division and one wait at the end.

    Weights, one for each example, are for the loss; the metrics count every example the same.

    A text that carries its state is read as a model that was trained so reads: in order, each window from the state
    behind the one before. The targets are those of every other model, each token once, so that bits per byte can be
    compared; what such a model has of it is its longer past, and a state of zeros at every window is one it has hardly
    seen.
    """
    model = task.at_test(model)
    merge = {metric.sums: metric.merge for metric in task.metrics.values()}  # each once, whoever shares it
    losses: list[Tensor] = []
    totals: dict[Sums, Tensor] = {}
    count: Any = 0
    share = examples if examples.carries else parallel.share(examples)
    with inference(model):
        read = _in_order(model, examples) if examples.carries else iterate_outputs(model, task, share, rows)
        for output, batch in read:
            y, weight = batch["targets"], (batch["weights"],) if "weights" in batch else ()
            loss, n = task.loss(output, y, *weight)
            losses.append(loss)
            count += n
            parts = {sums: sums(output, y) for sums in merge}
            totals = {sums: merge[sums](totals[sums], part) for sums, part in parts.items()} if totals else parts
        total = torch.stack(losses).double().sum()
        if share is not examples:
            total, count = parallel.sums([total, count])
            totals = {sums: parallel.merged(part, merge[sums]) for sums, part in totals.items()}
        return _figures(task, total.item() / float(count), totals)


def iterate_outputs(
    model: nn.Module, task: "Supervised", examples: Examples, rows: int = _ROWS
) -> Iterator[tuple[Any, Batch]]:
    """The outputs for some rows after the other, with the batch that they are of; as many at a time as fit."""
    targets = examples.parts.get("targets")
    each = math.prod(targets.shape[1:]) if targets is not None else 1
    for batch in examples.batches(min(rows, max(1, _NUMBERS // max(1, task.outputs * each)))):
        output = task.forward(model, batch)
        yield output.detach() if isinstance(output, Tensor) else output, batch


def _in_order(model: Any, examples: Examples) -> Iterator[tuple[Tensor, Batch]]:
    """The same along strips of the text, of which the last may be shorter than the others."""
    count, length = examples.inputs.shape
    steps = math.ceil(count / STRIPS)
    starts, cache = torch.arange(0, count, steps), model.new_cache(STRIPS, length)
    for step in range(steps):
        rows = starts[starts + step < count] + step
        if step and len(rows) < len(starts):
            cache.reorder(torch.arange(len(rows), device=examples.device))
        batch = examples.batch(rows)
        yield model(batch["inputs"], cache=cache), batch


def evaluate_objectives(model: nn.Module, task: "Task", split: Any, rows: int = _ROWS) -> dict[str, float]:
    """The mean of every loss and metric of a task over a split, and as `loss` the sum of the losses."""
    sums = sums_over(model, split, partial(_losses, task), rows)
    # A split may hold nothing of what one of several losses is about.
    losses = {name: total / count for name, (total, count) in sums.items() if count}
    if not losses:
        raise TrainingError("No loss has counted anything on a whole split: every count that came with a sum was 0.")
    return {**with_sum(losses), **evaluate_metrics(model, task, split, rows)}


def evaluate_metrics(model: nn.Module, task: "Task", split: Any, rows: int = _ROWS) -> dict[str, float]:
    """The metrics of a task that are functions of (model, batch)."""
    if not task.batch_metrics:
        return {}
    sums = sums_over(model, split, partial(metrics_on, task), rows)
    means = {name: total / count if count else math.nan for name, (total, count) in sums.items()}
    for name, mean in means.items():
        if math.isnan(mean) and _finite(model):
            raise TrainingError(f"The metric {name!r} gave NaN, though the model's weights are finite: look at it.")
    return means


def sums_over(
    model: nn.Module, split: Any, pairs: Callable[[nn.Module, Batch], Iterable[tuple[str, Loss]]], rows: int = _ROWS
) -> dict[str, tuple[float, float]]:
    """Sums and counts over the batches of a split, and over processes: to be divided once."""
    sums: dict[str, Any] = {}
    counts: dict[str, Any] = {}
    share = parallel.share(split)
    # No inference mode: a loss may ask for gradients inside of it.
    with torch.set_grad_enabled(model in _differentiating), evaluating(model):
        for batch in share.batches(rows):
            for name, (total, count) in pairs(model, batch):
                sums[name], counts[name] = sums.get(name, 0) + total.detach().double(), counts.get(name, 0) + count
    if share is not split:
        sums, counts = parallel.sums(sums), parallel.sums(counts)
    return {name: (float(sums[name]), float(counts[name])) for name in sums}


def _losses(task: "Task", model: nn.Module, batch: Batch) -> Iterator[tuple[str, Loss]]:
    """Sum and count of each loss on a batch."""
    for name, objective in task.objectives().items():
        yield from named(objective.loss(model, batch), name).items()


def metrics_on(task: "Task", model: nn.Module, batch: Batch) -> Iterator[tuple[str, Loss]]:
    """Sum and count of each metric on a batch."""
    for name, metric in task.batch_metrics.items():
        yield name, sum_and_count(name, metric(model, batch), size(batch))


def _finite(model: nn.Module) -> bool:
    return all(bool(p.isfinite().all()) for p in model.parameters())


def compare(models: Mapping[str, nn.Module], task: "Task", split: Any) -> dict[str, dict[str, float]]:
    """Loss and every metric of several models on the same split, by name; examples are read each by itself.

    A model of which nothing can be said is left out: one that only draws, where there are too few examples beside it.
    """
    if isinstance(split, Examples):
        models, split = {name: model.to(split.device) for name, model in models.items()}, split.apart()
    figures = {}
    for name, model in models.items():
        with in_evaluation(model):
            figures[name] = task.evaluate_baseline(model, split)
    return {name: row for name, row in figures.items() if row}


def _figures(task: "Task", loss: float, totals: Mapping[Sums, Tensor]) -> dict[str, float]:
    """The loss, and every metric that is defined for these targets: which ones does not depend on the model."""
    on_host = {sums: total.cpu() for sums, total in totals.items()}
    figures = {name: metric.value(on_host[metric.sums]) for name, metric in task.metrics.items()}
    if not math.isnan(loss):  # otherwise it is the outputs that are no numbers
        figures = {name: figure for name, figure in figures.items() if not math.isnan(figure)}
    return {"loss": loss, **figures}
