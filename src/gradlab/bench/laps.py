"""What a training on one device takes once it has its full speed, and what before. Importing this imports torch."""

import time
from collections.abc import Callable
from typing import Any

import torch

from gradlab.bench.device import wait
from gradlab.training.observers import Observer


class Clock:
    """Seconds of the second half of the steps, and the mean loss of each half."""

    def __init__(self, steps: int, place: torch.device):
        self.steps, self.place = steps, place
        self.began, self.half, self.end = time.perf_counter(), 0.0, 0.0
        self.losses: list[float] = []
        self.cpu: list[float] = []
        """Seconds of all threads of this process, at the half and at the end."""

    def lap(self, loss: float) -> None:
        """At the half, and at the end."""
        wait(self.place)
        self.half, self.end = self.half or time.perf_counter(), time.perf_counter()
        self.losses.append(loss)
        self.cpu.append(time.process_time())

    def row(self, examples: int) -> dict[str, Any]:
        seconds = (self.end - self.half) / (self.steps - self.steps // 2)
        return {
            "milliseconds": 1e3 * seconds,
            "examples_per_second": examples / seconds,
            "before": max(0.0, self.half - self.began - self.steps // 2 * seconds),
            "gibibytes": torch.cuda.max_memory_allocated() / 2**30 if self.place.type == "cuda" else 0.0,
            "losses": self.losses,
        }


def by_hand(clock: Clock, step: Callable[[], torch.Tensor]) -> None:
    """Steps of a loop that is not ours, each of which gives its loss; none of them waits for the device."""
    losses: list[torch.Tensor] = []
    for number in range(1, clock.steps + 1):
        losses.append(step().detach())
        if number in (clock.steps // 2, clock.steps):
            clock.lap(float(torch.stack(losses).mean()))
            losses = []


class Laps(Observer):
    """Log lines are at the half and at the end."""

    def __init__(self, clock: Clock):
        self.clock = clock

    def log(self, training: Any, line: Any) -> None:
        self.clock.lap(line["loss"])
