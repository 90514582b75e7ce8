"""Metrics as sums on the device, divided once: ragged batches, accumulation and ranks never skew a mean."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

Sums = Float[Tensor, "*sums"]


@dataclass(frozen=True)
class Metric:
    """`sums` reduces a batch to a tensor that may be added over batches; `value` turns the total into the figure."""

    sums: Callable[[Tensor, Tensor], Sums]
    value: Callable[[Sums], float]
    higher_is_better: bool


def accuracy() -> Metric:
    """The share of examples whose largest logit is their class."""

    def sums(logits: Float[Tensor, "batch classes"], target: Int64[Tensor, " batch"]) -> Float[Tensor, "2"]:
        right = (logits.argmax(1) == target).sum()
        return torch.stack([right, torch.full_like(right, len(target))]).double()

    return Metric(sums, lambda total: (total[0] / total[1]).item(), higher_is_better=True)


def macro_f1(classes: int) -> Metric:
    r"""$F_1 = 2 TP / (2 TP + FP + FN)$ of each class that occurs or is predicted, averaged with equal weight."""

    def value(confusion: Float[Tensor, "target predicted"]) -> float:
        hits, targets, predictions = confusion.diagonal(), confusion.sum(1), confusion.sum(0)
        present = targets + predictions > 0
        return (2 * hits[present] / (targets + predictions)[present]).mean().item()

    return Metric(confusion_matrix(classes), value, higher_is_better=True)


def confusion_matrix(classes: int) -> Callable[[Tensor, Tensor], Float[Tensor, "target predicted"]]:
    """Counts of (target, predicted) pairs."""

    def sums(logits: Float[Tensor, "batch classes"], target: Int64[Tensor, " batch"]) -> Tensor:
        pairs = target * classes + logits.argmax(1)
        counts = torch.zeros(classes * classes, dtype=torch.float64, device=logits.device)
        return counts.index_add_(0, pairs, torch.ones_like(pairs, dtype=torch.float64)).reshape(classes, classes)

    return sums


def rmse(unit: float = 1.0) -> Metric:
    r"""$\sqrt{\tfrac1n \sum (\hat y - y)^2}$, in units of the raw target (`unit` is what one unit of ours is worth)."""

    def sums(output: Float[Tensor, "*batch"], target: Float[Tensor, "*batch"]) -> Float[Tensor, "2"]:
        squares = (output.double() - target.double()).square()
        return torch.stack([squares.sum(), torch.full_like(squares.sum(), squares.numel())])

    return Metric(sums, lambda total: unit * math.sqrt(total[0] / total[1]), higher_is_better=False)


def r2() -> Metric:
    r"""$1 - \sum (\hat y - y)^2 / \sum (y - \bar y)^2$: 1 is perfect, 0 is predicting the mean of these targets."""

    def sums(output: Float[Tensor, "*batch"], target: Float[Tensor, "*batch"]) -> Float[Tensor, "4"]:
        y = target.double()
        count = torch.full((), y.numel(), dtype=torch.float64, device=y.device)
        return torch.stack([(output.double() - y).square().sum(), y.sum(), y.square().sum(), count])

    def value(total: Float[Tensor, "4"]) -> float:
        errors, first, second, count = total.tolist()
        spread = second - first * first / count
        return 1 - errors / spread if spread > 0 else float("nan")

    return Metric(sums, value, higher_is_better=True)
