"""Entropy and mutual information of what samples were drawn from, with how far the estimates may be off."""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gradlab.errors import GradlabError, unknown
from gradlab.nn import divergences

Interval = Literal["asymptotic", "bootstrap"]


class Estimate(NamedTuple):
    """A number, and an interval around it that holds the true one as often as its level says."""

    value: float
    low: float
    high: float
    error: float
    """Its standard error."""


def entropy_estimate(
    samples: Sequence[Any] | npt.NDArray[Any] | Tensor,
    *,
    correct: bool = True,
    interval: Interval = "asymptotic",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    base: float = math.e,
) -> Estimate:
    r"""The entropy of the distribution that the samples come from.

    $$ \hat H = H(\hat p) + \frac{K - 1}{2 N}, \qquad
       \mathrm{se}^2 = \frac{1}{N} \, \mathrm{Var}_{\hat p} \left( -\log \hat p \right) $$

    p̂ are the shares of the K different outcomes among N samples. Their entropy is too low on average, by what is added
    (Miller 1955) unless `correct` is false; outcomes that never turned up are still missing. The interval is that of
    a normal distribution with this standard error, or with the spread of `resamples` samples drawn anew from p̂
    (`interval="bootstrap"`). The first is too narrow where all outcomes are equally likely, since se is then nearly 0;
    the second is wider, rather than narrower, than its level says.

    >>> entropy_estimate("abracadabra", base=2).value.__round__(4)
    2.3027
    """
    _, counts = np.unique(_labels(samples), return_counts=True)
    return _estimate(counts, _entropy, correct, interval, level, resamples, seed, base)


def mutual_information_estimate(
    x: Sequence[Any] | npt.NDArray[Any] | Tensor,
    y: Sequence[Any] | npt.NDArray[Any] | Tensor,
    *,
    correct: bool = True,
    interval: Interval = "asymptotic",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    base: float = math.e,
) -> Estimate:
    r"""What one of two variables tells of the other, by pairs of samples.

    $$ \hat I = I(\hat p) + \frac{K_X + K_Y - K_{XY} - 1}{2 N}, \qquad
       \mathrm{se}^2 = \frac{1}{N} \, \mathrm{Var}_{\hat p} \, \mathrm{pmi} $$

    The correction is that of the three entropies; without it independent variables seem to tell something of each
    other, and with it the estimate may be below 0. `correct=False` is scikit-learn's `mutual_info_score`.

    >>> mutual_information_estimate([0, 0, 1, 1], [0, 0, 1, 1], correct=False, base=2).value
    1.0
    """
    first, second = _labels(x), _labels(y)
    if len(first) != len(second):
        raise GradlabError(f"mutual_information_estimate: x has {len(first)} samples and y has {len(second)}.")
    (rows, row), (columns, column) = (np.unique(each, return_inverse=True) for each in (first, second))
    shape = len(rows), len(columns)
    counts = np.bincount(row * shape[1] + column, minlength=shape[0] * shape[1]).reshape(shape)
    return _estimate(counts, _information, correct, interval, level, resamples, seed, base)


class _Functional(NamedTuple):
    """Of shares p: its value, the value at each outcome of which that is the mean, and the correction for N = 1."""

    value: Callable[[Tensor], Tensor]
    each: Callable[[Tensor], Tensor]
    correction: Callable[[Tensor], Tensor]


def _seen(p: Tensor) -> Tensor:
    return (p > 0).sum(-1)


_entropy = _Functional(divergences.entropy, lambda p: -p.log(), lambda p: (_seen(p) - 1) / 2)
_information = _Functional(
    divergences.mutual_information,
    divergences.pmi,
    lambda p: (_seen(p.sum(-1)) + _seen(p.sum(-2)) - _seen(p.flatten(-2)) - 1) / 2,
)


def _estimate(
    counts: npt.NDArray[np.int64],
    functional: _Functional,
    correct: bool,
    interval: Interval,
    level: float,
    resamples: int,
    seed: int,
    base: float,
) -> Estimate:
    if not 0 < level < 1:
        raise GradlabError(f"level must be between 0 and 1, such as 0.95, got {level}.")
    number = int(counts.sum())

    def corrected(p: Tensor) -> Tensor:
        return functional.value(p) + (functional.correction(p) / number if correct else 0.0)

    p = torch.from_numpy(counts / number)
    value = corrected(p).item()
    if interval == "asymptotic":
        each = torch.where(p > 0, functional.each(p) - functional.value(p), 0.0)
        error = math.sqrt(float((p * each.square()).sum()) / number)
    elif interval == "bootstrap":
        drawn = np.random.default_rng(seed).multinomial(number, p.flatten().numpy(), size=resamples)
        error = corrected(torch.from_numpy(drawn.reshape(resamples, *counts.shape) / number)).std().item()
    else:
        raise unknown("interval", interval, ("asymptotic", "bootstrap"))
    reach = error * NormalDist().inv_cdf((1 + level) / 2)
    return Estimate(*(x / math.log(base) for x in (value, value - reach, value + reach, error)))


def _labels(samples: Any) -> npt.NDArray[Any]:
    labels = np.asarray([*samples] if isinstance(samples, str) else samples)
    if labels.ndim != 1 or not len(labels):
        raise GradlabError(f"Samples are labels in one row, at least one of them, got the shape {labels.shape}.")
    return labels
