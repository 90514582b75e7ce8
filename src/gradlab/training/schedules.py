"""Learning-rate schedules: pure functions of the step, as factors of `train.lr`. Only `plateau` follows losses."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from gradlab.errors import GradlabError
from gradlab.registry import Count, Fraction, Natural, Positive, Registry


class Schedule:
    """The factor of the learning rate at a step (the first is 0): a function of the step alone.

    One that follows the evaluations too, such as `plateau`, keeps what it has seen in a `Trace`, which the training
    saves.
    """

    words = ""
    """What it does, where its curve cannot be drawn before the run."""

    def __init__(self, factor: Callable[[int], float]):
        self._factor = factor

    def __call__(self, step: int) -> float:
        return self._factor(step)

    def follow(self, loss: float, trace: "Trace") -> "Trace":
        """What is kept after an evaluation."""
        return trace


@dataclass(frozen=True)
class Trace:
    """What a schedule has made of the evaluations: a factor of the rate, the loss to beat, and how many did not."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    factor: Annotated[float, Field(ge=0)] = 1.0
    loss: float = math.inf
    evaluations: Natural = 0


schedules: Registry[Schedule] = Registry("schedule", makes=Schedule)
Warmup = Annotated[
    Natural | Literal["auto"],
    "steps over which the rate first rises linearly from 0; auto: a tenth of the run, at most 100",
]
Floor = Annotated[Fraction, "the last factor"]


def _warmup(warmup: int | Literal["auto"], steps: int) -> int:
    return min(100, steps // 10) if warmup == "auto" else warmup


def _warmed(warmup: int, after: Callable[[int], float]) -> Schedule:
    return Schedule(lambda step: (step + 1) / warmup if step < warmup else after(step - warmup))


@schedules.register("constant")
def constant(steps: int, *, warmup: Warmup = 0) -> Schedule:
    r"""The same rate throughout.

    $$ f(t) = 1 $$
    """
    return _warmed(_warmup(warmup, steps), lambda step: 1.0)


@schedules.register("step")
def step(
    steps: int,
    *,
    every: Annotated[Count | None, "steps between drops; default a third of the run"] = None,
    factor: Annotated[Fraction, "what each drop multiplies the rate by"] = 0.1,
    warmup: Warmup = 0,
) -> Schedule:
    r"""Drops by a factor at regular intervals.

    $$ f(t) = \gamma^{\lfloor t / n \rfloor} $$

    γ is `factor`, n is `every`.
    """
    rise = _warmup(warmup, steps)
    interval = every or max(1, math.ceil((steps - rise) / 3))
    return _warmed(rise, lambda step: factor ** (step // interval))


@schedules.register("cosine")
def cosine(
    steps: int,
    *,
    floor: Floor = 0.0,
    warmup: Warmup = 0,
) -> Schedule:
    r"""Falls from 1 to the floor along half a period of a cosine, over the whole run.

    $$ f(t) = c + (1 - c) \frac{1 + \cos(\pi t / T)}{2} $$

    c is `floor`, T the last step. Loshchilov & Hutter 2016, arXiv:1608.03983.

    >>> [round(cosine(5, floor=0.2)(s), 3) for s in range(5)]
    [1.0, 0.883, 0.6, 0.317, 0.2]
    """
    rise = _warmup(warmup, steps)
    last = _last(steps, rise)
    return _warmed(rise, lambda step: _between(1.0, floor, min(step / last, 1)))


@schedules.register("polynomial")
def polynomial(
    steps: int,
    *,
    power: Annotated[Positive, "1: a straight line; 2: a parabola that ends flat"] = 1.0,
    floor: Floor = 0.0,
    warmup: Warmup = 0,
) -> Schedule:
    r"""Falls from 1 to the floor along a power of the rest of the run.

    $$ f(t) = c + (1 - c) \left( 1 - \frac{t}{T} \right)^p $$

    c is `floor`, p is `power`, T the last step.

    >>> [polynomial(5, power=2.0)(s) for s in range(5)]
    [1.0, 0.5625, 0.25, 0.0625, 0.0]
    """
    rise = _warmup(warmup, steps)
    last = _last(steps, rise)
    return _warmed(rise, lambda step: floor + (1 - floor) * (1 - min(step / last, 1)) ** power)


@schedules.register("one-cycle")
def one_cycle(
    steps: int,
    *,
    warmup_share: Annotated[Fraction, "share of the run in which the rate rises"] = 0.3,
    start: Annotated[Fraction, "the first factor"] = 1 / 25,
    end: Annotated[Fraction, "the last factor"] = 1e-4,
) -> Schedule:
    r"""Rises to 1 and falls again, each along half a period of a cosine.

    $$ f(t) = \begin{cases} s + (1 - s) \frac{1 - \cos(\pi t / p)}{2} & t \le p \\
       e + (1 - e) \frac{1 + \cos(\pi (t - p) / (T - p))}{2} & t > p \end{cases} $$

    s is `start`, e is `end`, p the peak, after `warmup_share` of the run, and T the last step. Smith & Topin 2017,
    arXiv:1708.07120.

    >>> [round(one_cycle(10)(s), 3) for s in range(10)]
    [0.04, 0.52, 1.0, 0.95, 0.812, 0.611, 0.389, 0.188, 0.05, 0.0]
    """
    # The peak may lie between two steps. A run too short to rise begins at it.
    peak, last = max(0.0, warmup_share * steps - 1), steps - 1

    def factor(step: int) -> float:
        if step < peak:
            return _between(start, 1.0, step / peak)
        return _between(1.0, end, min((step - peak) / (last - peak or 1), 1))

    return Schedule(factor)


@dataclass(frozen=True)
class Plateau(Schedule):
    """A schedule whose factor falls where the validation loss does not."""

    factor: float
    patience: int
    floor: float
    threshold: float
    warmup: int

    @property
    def words(self) -> str:  # type: ignore[override]
        return (
            f"falls with the validation loss: times {self.factor:g} after {self.patience + 1} evaluations in a row "
            "without a better one"
        )

    def __call__(self, step: int) -> float:
        return (step + 1) / self.warmup if step < self.warmup else 1.0

    def follow(self, loss: float, trace: Trace) -> Trace:
        # A figure that should rise comes with its sign changed, and must then fall below zero by its share.
        if loss < trace.loss * (1 - math.copysign(self.threshold, trace.loss)):
            return replace(trace, loss=loss, evaluations=0)
        if trace.evaluations < self.patience:
            return replace(trace, evaluations=trace.evaluations + 1)
        return Trace(max(trace.factor * self.factor, self.floor), trace.loss, 0)


@schedules.register("plateau")
def plateau(
    steps: int,
    *,
    factor: Annotated[Fraction, "what each drop multiplies the rate by"] = 0.1,
    patience: Annotated[Natural, "evaluations in a row without a better validation loss that are let pass"] = 10,
    floor: Annotated[Fraction, "the least factor"] = 0.0,
    threshold: Annotated[Fraction, "share of the best loss by which a better one must be below it"] = 1e-4,
    warmup: Warmup = 0,
) -> Schedule:
    r"""Drops by a factor when the validation loss has stopped falling.

    $$ f \leftarrow \max(\gamma f, c) $$

    γ is `factor`, c is `floor`; so after `patience` + 1 evaluations in a row of which none is better.
    """
    return Plateau(factor, patience, floor, threshold, _warmup(warmup, steps))


def _last(steps: int, warmup: int) -> int:
    """The last step of what comes after the warmup, counted from its first."""
    if warmup >= steps:
        raise GradlabError(f"train.schedule.warmup={warmup} leaves nothing of the {steps} steps of this run.")
    return max(1, steps - warmup - 1)


def _between(first: float, last: float, share: float) -> float:
    """From the first to the last along half a period of a cosine."""
    return last + (first - last) * (1 + math.cos(math.pi * share)) / 2
