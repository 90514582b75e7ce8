"""Any nn.Module, trained on arrays: the same loop, step and observers as a recipe's run, without a folder."""

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from gradlab.data import Examples, Targets
from gradlab.data.raw import check_finite
from gradlab.data.splits import hold_out
from gradlab.diagnosis.finding import Finding
from gradlab.errors import GradlabError
from gradlab.tasks import Classify, Regress, Supervised, Task, predict
from gradlab.training import driver
from gradlab.training.checks import check_precision
from gradlab.training.checkup import Checkup, tell
from gradlab.training.environment import find_device
from gradlab.training.loop import Training
from gradlab.training.observers import Line, Observer
from gradlab.training.plan import Plan, plan_schema

Loss = Callable[[Tensor, Tensor], Tensor]
Arrays = tuple[npt.ArrayLike | Tensor, npt.ArrayLike | Tensor]


@dataclass(frozen=True)
class Fit:
    """What `fit` returns: the trained module, every line that a run would have logged, and what the doctor found."""

    model: nn.Module
    history: list[Line]
    steps: int
    seconds: float
    validation: dict[str, float]
    findings: list[Finding] = field(default_factory=list)


def fit(
    model: nn.Module,
    data: Arrays,
    *,
    loss: Literal["cross_entropy", "mse"] | Loss = "cross_entropy",
    validation: Arrays | float = 0.0,
    device: str | None = None,
    observers: Sequence[Observer] = (),
    **plan: Any,
) -> Fit:
    """Train any module on `(X, y)`, in place.

    `loss` is a name or a function of (output, target) that gives the mean over the batch. `validation` is a pair like
    `data`, or the share of it to hold out. `device` is where the module is, unless named. The other keywords are those
    of a recipe's `[train]`: epochs, batch_size, lr, optimizer, schedule, seed, ... If something seems wrong with the
    training it is told on stderr, and in `findings`; `doctor=False` leaves that out.

    >>> X, y = torch.randn(200, 4), torch.randint(0, 3, (200,))
    >>> fit(nn.Linear(4, 3), (X, y), epochs=2).steps
    14
    """
    settled = Plan(**plan_schema.resolve(plan, "fit"))
    if not any(p.requires_grad for p in model.parameters()):
        raise GradlabError("The model has no parameter to train.")
    place = find_device(device) if device else next(model.parameters()).device
    check_precision(settled, place)
    x, y = _pair(data)
    model = model.to(place)
    task = _task(_outputs(model, x), y, loss)
    train, held = _split(model, task, (x, y), validation, settled.seed)
    history, checkup = _History(), Checkup(knobs="") if settled.doctor else None
    with (
        driver.training(
            model,
            task,
            task.encoded(train).to(place),
            task.encoded(held).to(place) if held else None,
            settled,
            observers=[history, *observers, *([checkup] if checkup else [])],
        ) as training,
        checkup.at_work() if checkup else nullcontext(),
    ):
        progress = training.run()
    if progress.ended == "interrupted":
        raise KeyboardInterrupt
    evaluations = [line for line in history.lines if line["split"] == "validation"]
    last = {name: evaluations[-1][name] for name in progress.best} if evaluations else {}
    figures = progress.best if settled.keep == "best" else last
    findings = checkup.findings if checkup else []
    tell(findings)
    return Fit(model, history.lines, progress.step, progress.seconds, figures, findings)


class _History(Observer):
    def __init__(self) -> None:
        self.lines: list[Line] = []

    def log(self, training: Training, line: Line) -> None:
        self.lines.append(copy.copy(line))


class _Custom(Supervised):
    """A task with nothing but the user's own loss."""

    def __init__(self, loss: Loss):
        self.mean_loss = loss

    def loss(self, output: Tensor, target: Tensor, weight: Tensor | None = None) -> tuple[Tensor, int]:
        assert weight is None, "a mean cannot be weighted afterwards"
        return self.mean_loss(output, target) * len(target), len(target)


class _Squared(Regress):
    """Squared error of outputs of any shape, against the targets as they are."""

    def __init__(self, shape: torch.Size):
        super().__init__(Targets(mean=[0.0], std=[1.0]))
        self.shape = shape

    def encode(self, targets: Tensor) -> Tensor:
        # The outputs' own shape: (n,) beside (n, 1) would broadcast to a table of all differences.
        return targets.float().reshape(len(targets), *self.shape)


def _pair(data: Arrays) -> tuple[Tensor, Tensor]:
    """Inputs and targets as tensors, checked."""
    x, y = (_tensor(a) for a in data)
    if x.ndim == 0 or len(x) == 0 or y.ndim == 0 or len(x) != len(y):
        shapes = f"{tuple(x.shape)}, {tuple(y.shape)}"
        raise GradlabError(f"X and y must hold the same number of examples, got shapes {shapes}.")
    check_finite(x.cpu().numpy(), [])
    check_finite(y.cpu().numpy(), ["target"])
    return x, y if y.is_floating_point() else y.long()


def _tensor(values: npt.ArrayLike | Tensor) -> Tensor:
    if not isinstance(values, Tensor):
        array = np.array(values)  # a copy, which torch may own
        if array.dtype.kind not in "biuf":
            raise GradlabError(f"X and y must hold numbers, got an array of type {array.dtype}.")
        values = torch.from_numpy(array)
    return values.detach().float() if values.dtype == torch.float64 else values.detach()


def _split(
    model: nn.Module, task: Task, data: tuple[Tensor, Tensor], validation: Arrays | float, seed: int
) -> tuple[Examples, Examples | None]:
    x, y = data
    rows = np.arange(len(x))
    if isinstance(validation, (int, float)):
        if not 0 <= validation < 1:
            raise GradlabError(f"validation={validation} must be a share of the data from 0 up to, but not, 1.")
        labels = y.cpu().numpy() if isinstance(task, Classify) else None
        kept, held = hold_out(rows, validation, seed, labels)
        if len(held) == 0:
            return Examples.of(x, y, rows), None
        return Examples.of(x[kept], y[kept], kept), Examples.of(x[held], y[held], held)
    other, target = _pair(validation)
    _outputs(model, other)
    if isinstance(task, Classify):
        _check_classes(target, task.outputs)
    return Examples.of(x, y, rows), Examples.of(other, target)


def _outputs(model: nn.Module, x: Tensor) -> Tensor:
    """What the model gives for the first example, or why it gives nothing."""
    try:
        return predict(model, x[:1].to(next(model.parameters()).device))
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        raise GradlabError(f"The model does not take inputs of shape {tuple(x.shape[1:])}: {error}") from None


def _task(output: Tensor, y: Tensor, loss: str | Loss) -> Task:
    if callable(loss):
        return _Custom(loss)
    if loss == "cross_entropy":
        if y.is_floating_point() or y.ndim != 1 or output.ndim != 2:
            raise GradlabError(
                f"cross_entropy needs class indices y of shape (examples,) and logits (examples, classes), got y of "
                f"shape {tuple(y.shape)} and type {y.dtype}, and one output of shape {tuple(output.shape[1:])}."
            )
        _check_classes(y, output.shape[1])
        return Classify(Targets(classes=[str(c) for c in range(output.shape[1])]))
    if loss == "mse":
        if output[0].numel() != y[0].numel():
            raise GradlabError(
                f"The model has {output[0].numel()} outputs, but each target has {y[0].numel()} numbers."
            )
        return _Squared(output.shape[1:])
    raise GradlabError(f"There is no loss {loss!r}. Valid: cross_entropy, mse, or a function of (output, target).")


def _check_classes(y: Tensor, outputs: int) -> None:
    if y.min() < 0 or y.max() >= outputs:
        raise GradlabError(
            f"y has classes from {int(y.min())} to {int(y.max())}, but the model has {outputs} outputs: "
            f"classes must be 0 to {outputs - 1}."
        )
