"""What the data say of the answers, and how the classes among them are recognised."""

from __future__ import annotations

from dataclasses import dataclass, field

MISSED = 0.2
"""A class of which no larger share is recognised is missed."""


@dataclass(kw_only=True)
class Leak:
    """A column of the inputs that alone predicts the target nearly without error."""

    column: str
    target: str
    figure: str
    """What is measured, such as balanced accuracy: by this column alone, and by all the others together."""
    alone: float
    others: float


@dataclass(kw_only=True)
class Recognised:
    """One class in the evaluation of the weights that are kept."""

    name: str
    examples: int
    right: int
    area: float
    """AUROC of its probability; NaN where it is not defined."""

    @property
    def recall(self) -> float:
        return self.right / self.examples if self.examples else 1.0


@dataclass(kw_only=True)
class Classes:
    """All classes of a task, by the name of the task."""

    task: str
    weighted: bool = False
    """Whether rare classes count for more in training."""
    each: list[Recognised] = field(default_factory=list)
