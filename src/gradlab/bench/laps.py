"""What a training on one device takes once it has its full speed, and what before. Importing this imports torch."""

import time
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

    def lap(self, loss: float) -> None:
        """At the half, and at the end."""
        wait(self.place)
        self.half, self.end = self.half or time.perf_counter(), time.perf_counter()
        self.losses.append(loss)

    def row(self, examples: int) -> dict[str, Any]:
        seconds = (self.end - self.half) / (self.steps - self.steps // 2)
        return {
            "milliseconds": 1e3 * seconds,
            "examples_per_second": examples / seconds,
            "before": max(0.0, self.half - self.began - self.steps // 2 * seconds),
            "gibibytes": torch.cuda.max_memory_allocated() / 2**30 if self.place.type == "cuda" else 0.0,
            "losses": self.losses,
        }


class Laps(Observer):
    """Log lines are at the half and at the end."""

    def __init__(self, clock: Clock):
        self.clock = clock

    def log(self, training: Any, line: Any) -> None:
        self.clock.lap(line["loss"])
