"""Where a run stands while it is trained, from its files alone."""

from dataclasses import dataclass
from typing import Any, Literal

from gradlab.claims import held
from gradlab.run.folder import Run

State = Literal["running", "finished", "stopped"]


@dataclass(frozen=True)
class RunStatus:
    """The last lines of the metrics log, and whether some process is still at it."""

    state: State
    step: int
    total: int | None
    epoch: float
    seconds: float
    """Of training, up to the last line."""

    train: dict[str, Any]
    validation: dict[str, Any]
    """The last line of each; empty before there is one. That of the untrained model counts as none."""

    @classmethod
    def of(cls, run: Run) -> "RunStatus":
        lines = run.metrics
        last: dict[str, Any] = lines[-1] if lines else {"step": 0, "epoch": 0.0}
        by_split = {line["split"]: line for line in lines if line["step"]}
        state: State = "running" if held(run.path / ".lock") else "stopped"
        return cls(
            "finished" if (run.path / "result.json").exists() else state,
            last["step"],
            _total(run, last),
            last["epoch"],
            last.get("seconds", 0.0),
            by_split.get("train", {}),
            by_split.get("validation", {}),
        )

    @property
    def remaining(self) -> float | None:
        """Seconds, if the rest goes as what is done; training may also end sooner."""
        if not self.step or self.total is None:
            return None
        return self.seconds * max(0, self.total - self.step) / self.step


def _total(run: Run, last: dict[str, Any]) -> int | None:
    """The steps that were asked for; those of an epoch are known once some have been made."""
    plan = run.recipe.train
    if plan.get("steps"):
        return int(plan["steps"])
    return round(plan["epochs"] * last["step"] / last["epoch"]) if last["epoch"] and "epochs" in plan else None
