"""All that was seen inside a model on one batch: as values, as tables, as a page."""

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from gradlab.probes import AttentionMap, FeatureMaps, Layer, Recurrence, Token, findings
from gradlab.probes.surprise import Prediction
from gradlab.report.probing.tables import Table, tables


@dataclass(frozen=True, eq=False)
class Probe:
    """A look inside a model. `print(probe)` shows its tables, `probe.to_html("probe.html")` draws its pictures.

    What a model does not have is an empty list: attention, recurrent layers, convolutions, tokens.
    """

    name: str
    on: str
    """What the model was run on, in words."""

    inputs: Any
    loss: float | None
    layers: list[Layer]
    attention: list[AttentionMap] = field(default_factory=list)
    recurrences: list[Recurrence] = field(default_factory=list)
    feature_maps: list[FeatureMaps] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    """Of the first text, each with the surprise of the model."""

    following: list[Prediction] = field(default_factory=list)
    """What the model expects after the last token."""

    notes: list[str] = field(default_factory=list)
    """What the user should know of how this was made."""

    picture: Tensor | None = None
    """The first example, if it is a picture."""

    @property
    def findings(self) -> list[str]:
        """What stands out."""
        return findings(self.layers)

    def tables(self) -> list[Table]:
        """Titles, columns and rows of text."""
        return tables(self)

    def plain(self) -> dict[str, Any]:
        """All figures as JSON knows them: without pictures, with None for what is no number."""
        layers = [{**asdict(layer), "ratio": layer.ratio} for layer in self.layers]
        attention = [
            {"name": a.name, "reason": a.reason or None, "heads": [asdict(head) for head in a.heads]}
            for a in self.attention
        ]
        recurrences = [
            {
                "name": r.name,
                "kind": r.kind,
                "states": r.labels,
                "gates": {name: gate.mean((1, 2, 3)).tolist() for name, gate in r.gates.items()},
                "gradient": None if r.gradient is None else r.gradient.tolist(),
                "reach": None if r.reach is None else r.reach.tolist(),
            }
            for r in self.recurrences
        ]
        figures: dict[str, Any] = {
            "name": self.name,
            "on": self.on,
            "loss": self.loss,
            "layers": layers,
            "attention": attention,
            "recurrences": recurrences,
            "tokens": [asdict(token) for token in self.tokens],
            "following": self.following,
            "findings": self.findings,
            "notes": self.notes,
        }
        return {key: _json(value) for key, value in figures.items()}

    def __str__(self) -> str:
        told = [f"{self.name}: {self.on}", *self.notes]
        return "\n".join([*told, *(f"\n{table}" for table in self.tables()), *(f"\n{f}" for f in self.findings)])

    def to_html(self, path: str | Path) -> Path:
        """Write the page, which opens offline in any browser."""
        from gradlab.report.probing.page import write_page

        return write_page(self, Path(path))


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
