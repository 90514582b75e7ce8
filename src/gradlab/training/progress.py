"""Where a training stands: numbers alone, saved in every checkpoint and checked when one is restored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from gradlab.files import Damaged, check_content
from gradlab.registry import Natural, Positive
from gradlab.training.schedules import Trace

Ended = Literal["", "finished", "patience", "interrupted", "diverged"]
Window = Annotated[list[float], Field(min_length=2, max_length=2)]


@dataclass
class Progress:
    """The step that a training has reached, the losses since the last log line, and the best evaluation."""

    step: Natural = 0
    seconds: float = 0.0
    # Sum and count of each training loss since the last log line: added in the order of the steps whenever they are
    # added, so that a checkpoint in mid-window changes no bit of the line.
    window: dict[str, Window] = field(default_factory=dict)
    best_step: Natural = 0
    best: dict[str, float] = field(default_factory=dict)
    evaluations_since_best: Natural = 0
    trace: Trace = field(default_factory=Trace)
    """What the schedule has made of the evaluations."""
    lr: Positive | None = None
    """The learning rate that was requested while it ran, in place of the plan's."""
    ended: Ended = ""

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """That of a checkpoint, as `asdict` made it."""
        return cls(**{**values, "trace": Trace(**values["trace"])})


def check_progress(values: Any, step: int, source: Path) -> None:
    """Refuse what is no progress of the checkpoint of that step; a missing field must not be left to its default."""
    checked = check_content(values, Progress, source)
    missing = [one.name for one in fields(Progress) if one.name not in values]
    if missing:
        raise Damaged(source, f"its progress has no {', '.join(missing)}")
    if checked.step != step or checked.best_step > step:
        where = f"it is of step {step}, but its progress of step {checked.step}, the best of step {checked.best_step}"
        raise Damaged(source, where)
