"""The task of a training by `fit`: from a loss, objectives, metrics and a criterion, tried on the first batch."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from gradlab.data import Batch, Targets
from gradlab.data.batch import describe_shapes, size
from gradlab.errors import GradlabError, is_out_of_memory, one_line
from gradlab.nn.modes import evaluating
from gradlab.registry import shortly
from gradlab.tasks import Classify, Criterion, Regress, Supervised, Task
from gradlab.tasks.objective import check_name
from gradlab.tasks.own import ObjectiveLike, OwnTask
from gradlab.training.checks import check_objectives, evaluation_figures
from gradlab.training.fit_data import Split, all_targets, first_batch
from gradlab.training.fit_metrics import named_form, output_metric, sort_metrics

Loss = Callable[[Tensor, Tensor], Tensor]
LossLike = Literal["cross_entropy", "mse"] | Loss


class CustomLoss(Supervised):
    """A task with nothing but the user's own loss, a mean over the batch."""

    def __init__(self, loss: Loss):
        self.mean_loss = loss

    def loss(self, output: Any, target: Any, weight: Tensor | None = None) -> tuple[Tensor, int]:
        if weight is not None:
            raise GradlabError(
                "The data have weights, but a loss function gives a mean, which cannot be weighted afterwards. Take "
                "loss='cross_entropy' or 'mse', or objective=, a function of (model, batch)."
            )
        mean, examples = self.mean_loss(output, target), size({"targets": target})
        if not isinstance(mean, Tensor) or mean.ndim or not mean.is_floating_point():
            shown = f"a tensor of shape {tuple(mean.shape)}" if isinstance(mean, Tensor) else shortly(mean)
            raise GradlabError(f"The loss must return its mean over the batch, a tensor with one number, got {shown}.")
        return mean * examples, examples


class SquaredError(Regress):
    """Squared error of outputs of any shape, against the targets as they are."""

    def __init__(self, shape: torch.Size):
        super().__init__(Targets(mean=[0.0], std=[1.0]))
        self.shape = shape

    def encode(self, targets: Tensor) -> Tensor:
        # The outputs' own shape: (n,) next to (n, 1) would broadcast to a table of all differences.
        return targets.float().reshape(len(targets), *self.shape)

    def loss(self, output: Tensor, target: Tensor, weight: Tensor | None = None) -> Any:
        return super().loss(output, self.encode(target), weight)  # those of a stream are not encoded


def make_task(
    model: nn.Module,
    train: Split,
    loss: LossLike | None,
    objective: ObjectiveLike | Mapping[str, ObjectiveLike] | None,
    metrics: Mapping[str, Any],
    criterion: Criterion | str | None,
) -> Task:
    """What is learned, checked on the first batch."""
    batch = first_batch(train)
    if objective is not None:
        if loss is not None:
            raise GradlabError("loss and objective both say what is minimised: give one of them.")
        task: Task = _with_objectives(objective, metrics, criterion)
    elif batch is None or not {"inputs", "targets"} <= batch.keys():
        names = "a stream" if batch is None else ", ".join(map(str, batch))
        raise GradlabError(
            f"A loss compares outputs for `inputs` with `targets`, but the data have {names}. Give objective=, a "
            "function of (model, batch) that returns (sum, count)."
        )
    else:
        task = _supervised(_outputs(model, batch), train, batch, "cross_entropy" if loss is None else loss)
        with _explain_errors("The loss", batch):
            check_objectives(model, task, batch)
        _add_metrics(task, metrics, criterion, model, batch)
    if batch is not None:
        check_batch(model, task, batch, "data")
    return task


def _with_objectives(objective: Any, metrics: Mapping[str, Any], criterion: Criterion | str | None) -> OwnTask:
    for name, metric in metrics.items():
        if named_form(name, metric) == "output":
            raise GradlabError(
                f"The metric {name!r} is a function of (output, target), which go with a loss=. With objective=, "
                "metrics are functions of (model, batch)."
            )
    return OwnTask(objective, metrics, _criterion(criterion))


def _add_metrics(
    task: Supervised, metrics: Mapping[str, Any], criterion: Criterion | str | None, model: nn.Module, batch: Batch
) -> None:
    """The user's metrics next to those that the task has, and what weights are compared by."""
    for name in metrics:
        check_name("metric", name)
        if name == "loss" or name in task.metrics:
            raise GradlabError(f"A metric cannot be named {name!r}: there is such a figure already. Rename it.")
    with _explain_errors("A metric", batch):
        output_metrics, task.batch_metrics = sort_metrics(metrics, model, task, batch)
    known = {name: metric.higher_is_better for name, metric in task.metrics.items()}
    task.criterion = _criterion(criterion, known)
    chosen = task.criterion
    task.metrics = {
        **task.metrics,
        **{
            n: output_metric(n, m, task, n == chosen.figure and chosen.higher_is_better)
            for n, m in output_metrics.items()
        },
    }


def _criterion(criterion: Criterion | str | None, higher_is_better: Mapping[str, bool] = {}) -> Criterion:
    if criterion is None or isinstance(criterion, Criterion):
        return criterion or Criterion()
    if criterion in higher_is_better:
        return Criterion(criterion, higher_is_better[criterion])
    return Criterion(criterion.removeprefix("-"), not criterion.startswith("-") and criterion != "loss")


def _supervised(output: Any, train: Split, batch: Batch, loss: LossLike) -> Supervised:
    if callable(loss):
        return CustomLoss(loss)
    if not isinstance(loss, str) or loss not in ("cross_entropy", "mse"):
        raise GradlabError(
            f"There is no loss {shortly(loss)}. Valid: cross_entropy, mse, or a function of (output, target)."
        )
    y = batch["targets"]
    sound = all(isinstance(tensor, Tensor) and tensor.ndim for tensor in (output, y))
    if not sound or not output.is_floating_point():
        raise GradlabError(
            f"loss={loss!r} compares one tensor of outputs with one of targets, got "
            f"{describe_shapes({'outputs': output, 'targets': y})}. Give objective=, a function of (model, batch) that "
            "returns (sum, count)."
        )
    if loss == "cross_entropy":
        if y.is_floating_point() or y.is_complex() or y.ndim != 1 or output.ndim != 2:
            raise GradlabError(
                f"cross_entropy needs class indices y of shape (examples,) and logits (examples, classes), got y of "
                f"shape {tuple(y.shape)} and type {y.dtype}, and one output of shape {tuple(output.shape[1:])}."
            )
        _check_classes(all_targets(train, batch), output.shape[1])
        return Classify(Targets(classes=[str(c) for c in range(output.shape[1])]))
    if output.numel() != y.numel() or y.is_complex():
        raise GradlabError(
            f"The model has {output[0].numel()} outputs, but each target has {y[0].numel()} numbers of {y.dtype}."
        )
    return SquaredError(output.shape[1:])


def check_validation(model: nn.Module, task: Task, validation: Any) -> None:
    """Can the model be evaluated on the first batch of these data, and are the classes those that it has?"""
    batch = None if validation is None else first_batch(validation)
    if batch is None:
        return
    if isinstance(task, Supervised) and not {"inputs", "targets"} <= batch.keys():
        raise GradlabError(
            f"validation must have `inputs` and `targets`, as the data have, got {describe_shapes(batch)}."
        )
    if isinstance(task, Supervised):
        _outputs(model, batch)
    if isinstance(task, Classify):
        targets = all_targets(validation, batch)
        if not isinstance(targets, Tensor) or targets.is_floating_point() or targets.ndim != 1:
            raise GradlabError(f"validation must have class indices y, got {describe_shapes({'targets': targets})}.")
        _check_classes(targets, task.outputs)
    check_batch(model, task, batch, "validation")


def check_batch(model: nn.Module, task: Task, batch: Batch, name: str) -> None:
    """Do losses and metrics give what they should on a batch, and is the criterion one of them?"""
    with _explain_errors("The objective" if isinstance(task, OwnTask) else "The loss", batch, name):
        losses = check_objectives(model, task, batch)
    with _explain_errors("A metric", batch, name):
        figures = evaluation_figures(model, task, batch, losses)
    if task.criterion.figure not in figures:
        raise GradlabError(
            f"criterion={task.criterion.figure!r} names no figure of an evaluation. There are: {', '.join(figures)}."
        )


@contextmanager
def _explain_errors(what: str, batch: Batch, name: str = "data") -> Iterator[None]:
    """What a user's function raises meanwhile, in one message with what it was called with."""
    try:
        yield
    except Exception as error:
        if isinstance(error, GradlabError) or is_out_of_memory(error):
            raise
        raise GradlabError(
            f"{what} raised {type(error).__name__} on the first batch of {name}, which has {describe_shapes(batch)}: "
            f"{one_line(error)}"
        ) from error


def _outputs(model: nn.Module, batch: Batch) -> Any:
    """What the model gives for the inputs of a batch, or why it gives nothing."""
    # Not in inference mode: what a module keeps of its first call must serve for gradients too.
    try:
        with torch.random.fork_rng(), torch.no_grad(), evaluating(model):
            return model(batch["inputs"])
    except Exception as error:
        if is_out_of_memory(error):
            raise
        inputs = batch["inputs"]
        shape = f"shape {tuple(inputs.shape[1:])}" if isinstance(inputs, Tensor) else describe_shapes(batch)
        raise GradlabError(f"The model does not take inputs of {shape}: {one_line(error)}") from error


def _check_classes(y: Tensor, outputs: int) -> None:
    if y.numel() and (y.min() < 0 or y.max() >= outputs):
        raise GradlabError(
            f"y has classes from {int(y.min())} to {int(y.max())}, but the model has {outputs} outputs: "
            f"classes must be 0 to {outputs - 1}."
        )
