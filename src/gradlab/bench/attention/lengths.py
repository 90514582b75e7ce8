"""How time and memory of a training step grow with the length of a text, for each kind of attention."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gradlab.bench.arena import Progress
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError, unknown

MECHANISMS = {
    "softmax": "softmax",
    "written-out": "softmax, written out",
    "linear": "linear",
    "performer": "performer",
}

SHORTEST = 256


@dataclass(frozen=True, kw_only=True)
class Point:
    """A step at one length; None where the memory did not suffice."""

    length: int
    milliseconds: float | None
    """The least of a few steps."""
    mebibytes: float | None
    """At the peak of a step, above what the process has before it."""


@dataclass(frozen=True, kw_only=True)
class Growth:
    """One kind of attention at doubling lengths, until something ended it."""

    mechanism: str
    title: str
    points: list[Point]
    ended: Literal["memory", "time", "length"]
    time_exponent: float | None
    memory_exponent: float | None


def bench_attention(
    mechanisms: Sequence[str],
    progress: Progress,
    *,
    device: str = "cpu",
    memory: float = 2.0,
    seconds: float = 5.0,
    longest: int = 32768,
) -> list[Growth]:
    """Double the length from 256 to `longest`, until a step takes more than `memory` GiB or `seconds`.

    Every point is a process of its own, so that its peak of memory is its own too.
    """
    for name in mechanisms:
        if name not in MECHANISMS:
            raise unknown("kind of attention", name, MECHANISMS)
    if min(memory, seconds) <= 0:
        raise GradlabError(f"--memory and --seconds must be positive, got {memory:g} and {seconds:g}.")
    if longest < SHORTEST:
        raise GradlabError(f"--longest must be at least {SHORTEST}, where the lengths begin, got {longest}.")
    return [_measure(name, progress, device, memory, seconds, longest) for name in mechanisms]


def _measure(name: str, progress: Progress, device: str, memory: float, seconds: float, longest: int) -> Growth:
    points: list[Point] = []
    ended: Literal["memory", "time", "length"] = "length"
    length = SHORTEST
    while length <= longest and ended == "length":
        progress(f"{MECHANISMS[name]}: {length:,} tokens")
        point = measure_point(name, length, device, memory)
        points.append(point)
        if point.milliseconds is None:
            ended = "memory"
        elif point.milliseconds > 1e3 * seconds:
            ended = "time"
        length *= 2
    return Growth(
        mechanism=name,
        title=MECHANISMS[name],
        points=points,
        ended=ended,
        time_exponent=exponent([(p.length, p.milliseconds) for p in points]),
        memory_exponent=exponent([(p.length, p.mebibytes) for p in points]),
    )


def measure_point(mechanism: str, length: int, device: str, memory: float) -> Point:
    """One length in a process of its own, which may take so many GiB for its steps."""
    with Worker("gradlab.bench.attention.lengths_worker") as worker:
        try:
            answer = worker.ask({"mechanism": mechanism, "length": length, "device": device, "memory": memory})
        except WorkerFailed as error:
            raise GradlabError(f"A step of {mechanism!r} at length {length:,} failed: {error}") from None
    return Point(length=length, **answer)


def exponent(values: Sequence[tuple[int, float | None]]) -> float | None:
    """The b of a·nᵇ: the slope of least squares between logarithms, over the upper half of the lengths, two at least.

    Short lengths show what a call costs, not how the work grows.

    >>> exponent([(n, 3.0 * n**2) for n in (1, 2, 4, 8)])
    2.0
    """
    known = [(math.log(n), math.log(value)) for n, value in values if value]
    upper = known[min(len(known) // 2, max(0, len(known) - 2)) :]
    if len(upper) < 2:
        return None
    return round(statistics.linear_regression(*zip(*upper, strict=True)).slope, 2)
