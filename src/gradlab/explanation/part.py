"""What there is to say about optimisers, schedules and metrics, gathered from their docstrings and signatures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gradlab.explanation.block import SourceCode
from gradlab.explanation.curve import schedule_curve
from gradlab.explanation.docstring import Docstring
from gradlab.explanation.equations import sentence, terminal
from gradlab.explanation.plot import Plot
from gradlab.registry import Knob, Schema
from gradlab.scratch import optimizers as twins_of_optimizers
from gradlab.tasks import metrics
from gradlab.training.optimizers import optimizers
from gradlab.training.schedules import schedules
from gradlab.wording import as_typed

_STEPS = 200  # of the run whose schedule is drawn

_METRICS: dict[str, Callable[..., Any]] = {
    "accuracy": metrics.accuracy,
    "balanced_accuracy": metrics.balanced_accuracy,
    "f1": metrics.macro_f1,
    "auroc": metrics.auroc,
    "ece": metrics.ece,
    "rmse": metrics.rmse,
    "mae": metrics.mae,
    "r2": metrics.r2,
    "deviance": metrics.deviance,
    "perplexity": metrics.perplexity,
}


def parts() -> dict[str, Callable[..., Any]]:
    """By their names here: the kind, a dot, and the name in a recipe or a result."""
    return {
        **{f"optimizer.{name}": optimizers[name] for name in optimizers},
        **{f"schedule.{name}": schedules[name] for name in schedules},
        **{f"metric.{name}": function for name, function in _METRICS.items()},
    }


@dataclass(frozen=True)
class PartExplanation:
    """Everything that `gradlab explain` shows of one of them."""

    name: str
    doc: Docstring
    knobs: list[Knob]
    codes: list[SourceCode]
    """Its own, and that of its twin in the NumPy engine, where it has one."""

    plot: Plot | None

    @classmethod
    def of(cls, name: str) -> "PartExplanation":
        function, (kind, _, own) = parts()[name], name.partition(".")
        knobs = [] if kind == "metric" else list(Schema(function).knobs.values())
        drawn = kind == "schedule" and not schedules[own](_STEPS).words
        plot = schedule_curve(schedules[own](_STEPS), _STEPS) if drawn else None
        twins = [t for t in vars(twins_of_optimizers).values() if isinstance(t, type) and t.__name__.lower() == own]
        codes = [SourceCode.of(function), *map(SourceCode.of_twin, twins if kind == "optimizer" else [])]
        return cls(name, Docstring.of(function), knobs, codes, plot)

    @property
    def use(self) -> str:
        """How a recipe gets it, or where it is seen."""
        kind, _, name = self.name.partition(".")
        if kind == "metric":
            return f"gradlab evaluate RUN shows it as {name}, where the task has it"
        return f"gradlab train RECIPE train.{kind}={name}"

    @property
    def rows(self) -> list[list[str]]:
        """The knobs as they are set: key, default, type, what it means."""
        return [[f"train.{self._key(k)}", as_typed(_default(k)), k.type_name, k.doc] for k in self.knobs]

    def _key(self, knob: Knob) -> str:
        return f"{self.name.partition('.')[0]}.{knob.name}"

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "summary": sentence(self.doc.summary),
            "equations": [{"latex": latex, "unicode": terminal(latex)} for latex in self.doc.equations],
            "text": [sentence(part) for part in self.doc.body if isinstance(part, str)],
            "use": self.use,
            "knobs": [dict(zip(("key", "default", "type", "doc"), row, strict=True)) for row in self.rows],
            "code": [{"name": code.name, "text": code.text} for code in self.codes],
        }


def _default(knob: Knob) -> Any:
    return None if knob.default is knob.empty else knob.default
