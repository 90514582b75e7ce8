"""When replays are compared with eager steps in the course of a training, and what it does where they differ."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from gradlab import parallel
from gradlab.errors import TrainingError, notice
from gradlab.nn.plain import is_ours
from gradlab.run.checkpoint import Checkpoint
from gradlab.training.capture import GraphStep, mode_in_words
from gradlab.training.step_watch import HostWaits

if TYPE_CHECKING:
    from gradlab.training.loop import Training

# Steps after which comparisons take less than a hundredth of the time; each takes some 5 ms more than its step.
_FIRST, _FIRST_OF_SMALL = 1000, 4000


class Comparisons:
    """Those of one training: after ever more steps, and in the last one. See `capture.GraphStep`."""

    def __init__(self, training: Training):
        self.training: Training = weakref.proxy(training)  # a cycle would keep recorded graphs and their memory
        self.passed: Checkpoint | None = None  # where the training stood at the last one that passed
        self.begun: Checkpoint | None = None
        self.next = 0
        self.evaluations = 0
        self.host_waits: HostWaits | None = None

    def live_tensors(self) -> list[Tensor]:
        """Weights, buffers, and what the optimizers and the average keep, on the device."""
        training = self.training
        beside = [player.optimizer.snapshot() for player in training.players]
        beside += [] if training.average is None else [training.average.snapshot()]
        leaves = [*training.model.parameters(), *training.model.buffers(), *pytree.tree_leaves(beside)]
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.layout == torch.strided]
        return [tensor for tensor in tensors if tensor.device.type == training.device.type]

    def begin(self, place: torch.device) -> None:
        """Remember where the training stands, in memory of the place."""
        self.begun = self.training.checkpoint(place)

    def note_success(self) -> None:
        """The replays since the comparison before are right; the next one is after twice as many steps."""
        self.passed, self.begun = self.begun, None
        first = _FIRST_OF_SMALL if self.training.at_once > 1 else _FIRST
        self.next = max(first, 2 * self.training.progress.step)

    def fall_back(self, reason: str) -> None:
        """Make eager steps from now on."""
        training = self.training
        training.mode, training.mode_reason, training.at_once = "eager", reason, 1
        if isinstance(training.step, GraphStep) and training.step.watch is not None:
            self.host_waits = training.step.watch.waits
        if training.plan.compile == "on":
            raise TrainingError(
                f"train.compile=on asks for a step that is replayed, but this one cannot be: {reason}. Leave "
                "train.compile out: the eager step computes the same, more slowly."
            )
        if parallel.rank() == 0:
            notice(f"device {training.device.type}, {mode_in_words(training.mode, reason)}")
        for observer in training.observers:
            observer.fallback(training)

    def go_back(self) -> None:
        """Train again what was trained since the last comparison that passed."""
        training = self.training
        assert self.passed is not None, "the first replay is compared at once"
        notice(f"Trained again from step {self.passed.step}, from which on replayed steps may have been wrong.")
        training.pending.clear()
        training.restore(self.passed)
        for observer in training.observers:
            observer.rewind(training)
        training.make_step()

    def check_changes(self, evaluated: bool) -> None:
        """Look at what a log line, an evaluation or an observer may have changed that a replay depends on."""
        training, step = self.training, self.training.step
        if not isinstance(step, GraphStep) or step.watch is None:
            return
        # After evaluations ever more seldom, since those do the same every time.
        self.evaluations += evaluated
        rare = evaluated and self.evaluations.bit_count() == 1
        if rare or not all(is_ours(type(observer)) for observer in training.observers):
            step.look()
        if training.progress.step >= self.next:
            step.compare()
