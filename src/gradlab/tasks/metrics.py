"""Metrics as totals over batches, divided once: ragged batches, accumulation and ranks never skew a mean."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gradlab.maths import language
from gradlab.tasks.ranking import Ranking
from gradlab.tasks.reliability import Reliability

Total = Float[Tensor, "*total"]
Sums = Callable[[Tensor, Tensor], Total]
View = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Metric:
    """`sums` reduces a batch to a tensor, `merge` joins those of two batches, `value` turns the total into the figure.

    Metrics with the same `sums` share them: they are computed once. A figure that is undefined is NaN.
    """

    sums: Sums
    value: Callable[[Total], float]
    higher_is_better: bool
    merge: Callable[[Total, Total], Total] = torch.add


def perplexity(nats: float) -> float:
    r"""The exponential of a mean surprise, $\exp(-\frac{1}{n} \sum_t \log P(x_t \mid x_{<t}))$.

    Infinity where a token was held impossible, or where it is no float any more. A training goes on with it, since
    what must be finite is the loss; in JSON it is null.

    >>> perplexity(0.0), perplexity(1000.0), perplexity(math.inf), perplexity(math.nan)
    (1.0, inf, inf, nan)
    """
    return language.perplexity(torch.tensor([-nats], dtype=torch.float64)).item()


def viewed(metrics: Mapping[str, Metric], view: View) -> dict[str, Metric]:
    """The same metrics of `view(output)`; those that share their sums still do."""

    def after(sums: Sums) -> Sums:
        return lambda output, target: sums(view(output), target)

    seen = {metric.sums: after(metric.sums) for metric in metrics.values()}
    return {name: replace(metric, sums=seen[metric.sums]) for name, metric in metrics.items()}


# Of classes, from one logit for each.


def class_metrics(classes: int, threshold: float | None = None, positive: int = 1) -> dict[str, Metric]:
    """The metrics of every classification, the most telling first."""
    confusion = confusion_matrix(classes, threshold, positive)
    return {
        "accuracy": accuracy(confusion),
        "f1": macro_f1(confusion),
        "balanced_accuracy": balanced_accuracy(confusion),
        "auroc": auroc(),
        "ece": ece(),
    }


def decided(
    logits: Float[Tensor, "batch classes"], threshold: float | None = None, positive: int = 1
) -> Int64[Tensor, " batch"]:
    """The most probable class; with a threshold, the positive of two where its probability is at least that.

    >>> decided(torch.tensor([[0.0, -1.0]])), decided(torch.tensor([[0.0, -1.0]]), threshold=0.2)
    (tensor([0]), tensor([1]))
    """
    if threshold is None:
        return logits.argmax(1)
    return torch.where(logits.double().softmax(1)[:, positive] >= threshold, positive, 1 - positive)


def confusion_matrix(classes: int, threshold: float | None = None, positive: int = 1) -> Sums:
    """Counts of (target, predicted) pairs."""

    def sums(
        logits: Float[Tensor, "batch classes"], target: Int64[Tensor, " batch"]
    ) -> Float[Tensor, "target predicted"]:
        pairs = target * classes + decided(logits, threshold, positive)
        counts = torch.zeros(classes * classes, dtype=torch.float64, device=logits.device)
        return counts.index_add_(0, pairs, torch.ones_like(pairs, dtype=torch.float64)).reshape(classes, classes)

    return sums


def accuracy(confusion: Sums) -> Metric:
    """The share of examples whose largest logit is their class."""
    return Metric(confusion, lambda total: (total.trace() / total.sum()).item(), higher_is_better=True)


def balanced_accuracy(confusion: Sums) -> Metric:
    """The share of each class that is recognised, averaged with equal weight over the classes that occur."""

    def value(total: Float[Tensor, "target predicted"]) -> float:
        counts = total.numpy()
        hits, targets = counts.diagonal(), counts.sum(1)
        occurs = targets > 0
        return float((hits[occurs] / targets[occurs]).mean())

    return Metric(confusion, value, higher_is_better=True)


def macro_f1(confusion: Sums) -> Metric:
    r"""$F_1 = 2 TP / (2 TP + FP + FN)$ of each class that occurs or is predicted, averaged with equal weight."""

    def value(total: Float[Tensor, "target predicted"]) -> float:
        counts = total.numpy()
        hits, either = counts.diagonal(), counts.sum(1) + counts.sum(0)
        present = either > 0
        return float((2 * hits[present] / either[present]).mean())

    return Metric(confusion, value, higher_is_better=True)


def probabilities(
    logits: Float[Tensor, "batch classes"], target: Int64[Tensor, " batch"]
) -> Float[Tensor, "classes+1 batch"]:
    """A row for each class with its probabilities, then the classes themselves: ranks and bins need every example."""
    # Along the rows, each by itself: down the columns, equal rows would differ in the last bit by where they stand.
    by_class = logits.double().softmax(1).T
    return torch.cat([by_class, target[None].to(by_class.dtype)])


def _append(total: Float[Tensor, "rows before"], part: Float[Tensor, "rows after"]) -> Float[Tensor, "rows both"]:
    return torch.cat([total, part], dim=1)


def auroc() -> Metric:
    r"""How often a member of a class is given a higher probability of it than a non-member, a tie counting half.

    $$ \mathrm{AUROC}_c = P(p > p') + \tfrac12 P(p = p'), \qquad p = p_c(X \mid Y = c),\ p' = p_c(X \mid Y \ne c) $$

    Of two classes it is the second one's, which equals the first one's. Of several it is the mean over the classes
    that have both members and non-members.
    """

    def value(total: Float[Tensor, "rows examples"]) -> float:
        scores, target = total.numpy()[:-1], total.numpy()[-1]
        ordered = np.sort(scores, axis=1)
        columns = range(len(scores)) if len(scores) > 2 else [1]
        areas = [_area(scores[c][target == c], ordered[c]) for c in columns]
        defined = [area for area in areas if not math.isnan(area)]
        return sum(defined) / len(defined) if defined else math.nan

    return Metric(probabilities, value, higher_is_better=True, merge=_append)


def average_precision(positive: int = 1) -> Metric:
    r"""The precision at each score of the positive class, weighted by the recall that it adds (see `Ranking`)."""

    def value(total: Float[Tensor, "rows examples"]) -> float:
        scores, members = total.numpy()[positive], total.numpy()[-1] == positive
        return Ranking.of(scores, members).average_precision if 0 < members.sum() < len(members) else math.nan

    return Metric(probabilities, value, higher_is_better=True, merge=_append)


def _area(members: npt.NDArray[np.float64], ordered: npt.NDArray[np.float64]) -> float:
    """The share of (member, other) pairs in which the member has the higher score, a tie counting half.

    `ordered` are the scores of both. Below a member and not above it, counted together, are two for each score that
    it wins against and one for each tie. Among the members themselves that makes one for each ordered pair.
    """
    count = len(members)
    pairs = count * (len(ordered) - count)
    wins = (ordered.searchsorted(members) + ordered.searchsorted(members, "right")).sum() - count * count
    return float(wins) / (2 * pairs) if pairs else math.nan


def by_class(total: Float[Tensor, "rows examples"]) -> list[tuple[int, int, float]]:
    """Of each class how many examples there are, how many of them are recognised, and its AUROC."""
    scores, target = total.numpy()[:-1], total.numpy()[-1]
    right = scores.argmax(0) == target
    members = [target == c for c in range(len(scores))]
    areas = [_area(own[is_one], np.sort(own)) for own, is_one in zip(scores, members, strict=True)]
    return [(int(m.sum()), int((m & right).sum()), area) for m, area in zip(members, areas, strict=True)]


def ece() -> Metric:
    """Expected calibration error: how far confidence is from accuracy (see `Reliability`)."""

    def value(total: Float[Tensor, "rows examples"]) -> float:
        kept = total.numpy()
        return Reliability.of(kept[:-1].max(0), kept[:-1].argmax(0) == kept[-1]).ece

    return Metric(probabilities, value, higher_is_better=False, merge=_append)


# Of numbers.


def errors(output: Float[Tensor, "*batch"], target: Float[Tensor, "*batch"]) -> Float[Tensor, "5"]:
    """Squared and absolute errors, the targets and their squares, each summed, and how many there are."""
    y = target.double()
    error = output.double() - y
    count = torch.full((), y.numel(), dtype=torch.float64, device=y.device)
    return torch.stack([error.square().sum(), error.abs().sum(), y.sum(), y.square().sum(), count])


def rmse(unit: float = 1.0) -> Metric:
    r"""$\sqrt{\tfrac1n \sum (\hat y - y)^2}$, in units of the raw target (`unit` is what one unit of ours is worth)."""
    return Metric(errors, lambda total: unit * math.sqrt(total[0] / total[4]), higher_is_better=False)


def mae(unit: float = 1.0) -> Metric:
    r"""$\tfrac1n \sum |\hat y - y|$, in units of the raw target."""
    return Metric(errors, lambda total: unit * (total[1] / total[4]).item(), higher_is_better=False)


def r2() -> Metric:
    r"""$1 - \sum (\hat y - y)^2 / \sum (y - \bar y)^2$: 1 is perfect, 0 is predicting the mean of these targets."""

    def value(total: Float[Tensor, "5"]) -> float:
        squares, _, first, second, count = total.tolist()
        spread = second - first * first / count
        return float(1 - squares / spread) if spread > 0 else math.nan

    return Metric(errors, value, higher_is_better=True)


def deviance(unit: float = 1.0) -> Metric:
    r"""Mean Poisson deviance of means $\mu = e^z$ from counts: twice the log-likelihood that they fall short of.

    $$ D = \tfrac2n \sum \left( y \log \tfrac y\mu - y + \mu \right) $$
    """

    def sums(z: Float[Tensor, "*batch"], target: Float[Tensor, "*batch"]) -> Float[Tensor, "2"]:
        z, y = z.double(), target.double()
        terms = torch.xlogy(y, y) - y * z - y + z.exp()
        return torch.stack([terms.sum(), torch.full_like(terms.sum(), y.numel())])

    return Metric(sums, lambda total: 2 * unit * (total[0] / total[1]).item(), higher_is_better=False)
