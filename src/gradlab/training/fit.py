"""Any nn.Module, trained on arrays: the same loop, step and observers as a recipe's run, without a folder."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from gradlab.data import Examples, Targets
from gradlab.data.raw import check_finite
from gradlab.data.splits import hold_out
from gradlab.errors import GradlabError
from gradlab.probes import forward_flops
from gradlab.tasks import Classify, Metric, Regress, Task, predict
from gradlab.training.capture import choose_mode
from gradlab.training.environment import choose_threads, find_device, settings
from gradlab.training.loop import Training
from gradlab.training.observers import Line, Observer
from gradlab.training.plan import Plan, plan_schema

Loss = Callable[[Tensor, Tensor], Tensor]
Arrays = tuple[npt.ArrayLike | Tensor, npt.ArrayLike | Tensor]


@dataclass(frozen=True)
class Fit:
    """What `fit` returns: the trained module, and every line that a run would have logged."""

    model: nn.Module
    history: list[Line]
    steps: int
    seconds: float
    validation: dict[str, float]


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
    of a recipe's `[train]`: epochs, batch_size, lr, optimizer, schedule, seed, ...

    >>> X, y = torch.randn(200, 4), torch.randint(0, 3, (200,))
    >>> fit(nn.Linear(4, 3), (X, y), epochs=2).steps
    14
    """
    settled = Plan(**plan_schema.resolve(plan, "fit"))
    place = find_device(device) if device else next((p.device for p in model.parameters()), torch.device("cpu"))
    x, y = (_tensor(a) for a in data)
    _check(x, y)
    model = model.to(place)
    task = _task(model, x.to(place), y, loss)
    train, held = _split((x, y), validation, settled.seed)
    steps = settled.total_steps(len(train))
    flops = 3.0 * forward_flops(model, x[:1].to(place)) * settled.examples_per_step(len(train))
    history = _History()
    with settings(place, choose_threads(settled, flops), settled):
        training = Training(
            model,
            task,
            replace(train, targets=task.encode(train.targets)).to(place),
            replace(held, targets=task.encode(held.targets)).to(place) if held else None,
            settled,
            mode=choose_mode(settled, place, steps),
            observers=[history, *observers],
        )
        progress = training.run()
    if progress.ended == "interrupted":
        raise KeyboardInterrupt
    return Fit(model, history.lines, progress.step, progress.seconds, progress.best)


class _History(Observer):
    def __init__(self) -> None:
        self.lines: list[Line] = []

    def log(self, training: Training, line: Line) -> None:
        self.lines.append(copy.copy(line))


class _Custom:
    """A task with nothing but the user's own loss."""

    outputs = 0

    def __init__(self, loss: Loss):
        self.mean_loss = loss
        self.metrics: dict[str, Metric] = {}

    def encode(self, targets: Tensor) -> Tensor:
        return targets

    def loss(self, output: Tensor, target: Tensor) -> tuple[Tensor, int]:
        return self.mean_loss(output, target) * len(target), len(target)

    def expected_initial_loss(self) -> tuple[float, str]:
        return float("nan"), "unknown"

    def baseline(self, training: Tensor, count: int) -> tuple[str, Tensor]:
        raise GradlabError("A loss of one's own has no known trivial baseline.")

    def decode(self, output: Tensor) -> list[dict[str, Any]]:
        return [{"value": row} for row in output.tolist()]


def _tensor(values: npt.ArrayLike | Tensor) -> Tensor:
    tensor = values.detach() if isinstance(values, Tensor) else torch.from_numpy(np.ascontiguousarray(values))
    return tensor.float() if tensor.dtype == torch.float64 else tensor


def _check(x: Tensor, y: Tensor) -> None:
    if x.ndim == 0 or len(x) == 0 or len(x) != len(y):
        raise GradlabError(
            f"X and y must hold the same number of examples, got shapes {tuple(x.shape)}, {tuple(y.shape)}."
        )
    check_finite(x.cpu().numpy(), [])
    check_finite(y.cpu().numpy(), ["target"])


def _split(data: tuple[Tensor, Tensor], validation: Arrays | float, seed: int) -> tuple[Examples, Examples | None]:
    rows = np.arange(len(data[0]))
    if not isinstance(validation, float):
        x, y = (_tensor(a) for a in validation)
        _check(x, y)
        return Examples(*data, rows), Examples(x, y, np.arange(len(x)))
    labels = data[1].cpu().numpy() if data[1].dtype == torch.int64 and data[1].ndim == 1 else None
    kept, out = hold_out(rows, validation, seed, labels)
    if len(out) == 0:
        return Examples(*data, rows), None
    x, y = data
    return Examples(x[kept], y[kept], kept), Examples(x[out], y[out], out)


def _task(model: nn.Module, x: Tensor, y: Tensor, loss: str | Loss) -> Task:
    if callable(loss):
        return _Custom(loss)
    try:
        output = predict(model, x[:1])
    except RuntimeError as error:
        raise GradlabError(f"The model does not take inputs of shape {tuple(x.shape[1:])}: {error}") from None
    if loss == "cross_entropy":
        if y.dtype.is_floating_point or y.ndim != 1 or output.ndim != 2:
            raise GradlabError(
                f"cross_entropy needs class indices y of shape (examples,) and logits (examples, classes), got y of "
                f"shape {tuple(y.shape)} and type {y.dtype}, and one output of shape {tuple(output.shape[1:])}."
            )
        if y.min() < 0 or y.max() >= output.shape[1]:
            raise GradlabError(
                f"y has classes from {int(y.min())} to {int(y.max())}, but the model has {output.shape[1]} outputs: "
                f"classes must be 0 to {output.shape[1] - 1}."
            )
        return Classify(Targets(classes=[str(c) for c in range(output.shape[1])]))
    if loss == "mse":
        if output[0].numel() != y[0].numel():
            raise GradlabError(
                f"The model has {output[0].numel()} outputs, but each target has {y[0].numel()} numbers."
            )
        return Regress(Targets(mean=[0.0] * y[0].numel(), std=[1.0] * y[0].numel()))
    raise GradlabError(f"There is no loss {loss!r}. Valid: cross_entropy, mse, or a function of (output, target).")
