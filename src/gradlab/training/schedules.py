"""Learning-rate schedules: pure functions of the step, as factors of `train.lr`."""

import math
from collections.abc import Callable
from typing import Annotated

from gradlab.errors import GradlabError
from gradlab.registry import Count, Fraction, Natural, Registry

Schedule = Callable[[int], float]
"""The factor of the learning rate at a step (the first is 0)."""

schedules: Registry[Schedule] = Registry("schedule")
Warmup = Annotated[Natural, "steps over which the rate first rises linearly from 0"]


def _warmed(warmup: int, after: Schedule) -> Schedule:
    return lambda step: (step + 1) / warmup if step < warmup else after(step - warmup)


@schedules.register("constant")
def constant(steps: int, *, warmup: Warmup = 0) -> Schedule:
    """The same rate throughout."""
    return _warmed(warmup, lambda step: 1.0)


@schedules.register("step")
def step(
    steps: int,
    *,
    every: Annotated[Count | None, "steps between drops; default a third of the run"] = None,
    factor: Annotated[Fraction, "what each drop multiplies the rate by"] = 0.1,
    warmup: Warmup = 0,
) -> Schedule:
    """Drops by a factor at regular intervals."""
    interval = every or max(1, math.ceil((steps - warmup) / 3))
    return _warmed(warmup, lambda step: factor ** (step // interval))


@schedules.register("cosine")
def cosine(
    steps: int,
    *,
    floor: Annotated[Fraction, "the last factor"] = 0.0,
    warmup: Warmup = 0,
) -> Schedule:
    """Falls from 1 to the floor along half a period of a cosine, over the whole run.

    >>> [round(cosine(5, floor=0.2)(s), 3) for s in range(5)]
    [1.0, 0.883, 0.6, 0.317, 0.2]
    """
    if warmup >= steps:
        raise GradlabError(f"train.schedule.warmup={warmup} leaves nothing of the {steps} steps of this run.")
    last = max(1, steps - warmup - 1)
    return _warmed(warmup, lambda step: floor + (1 - floor) * (1 + math.cos(math.pi * min(step / last, 1))) / 2)
