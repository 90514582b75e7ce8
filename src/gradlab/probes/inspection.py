"""All that was seen inside a model on one batch: as plain values, and as tables of text."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from gradlab.probes.alignment import Alignment
from gradlab.probes.attention import AttentionMap
from gradlab.probes.attribution import Attributions
from gradlab.probes.findings import findings
from gradlab.probes.layers import LayerValues
from gradlab.probes.maps import FeatureMaps
from gradlab.probes.recurrence import Recurrence
from gradlab.probes.surprise import Prediction, Token
from gradlab.probes.tables import TextTable, tables


@dataclass(frozen=True, eq=False)
class Inspection:
    """What a model does not have is an empty list: attention, recurrent layers, convolutions, tokens."""

    name: str
    on: str
    """What the model was run on, in words."""

    inputs: Any
    loss: float | None
    layers: list[LayerValues]
    attention: list[AttentionMap] = field(default_factory=list)
    recurrences: list[Recurrence] = field(default_factory=list)
    feature_maps: list[FeatureMaps] = field(default_factory=list)
    attributions: Attributions = field(default_factory=Attributions)
    """What of the first pictures speaks for their classes, where pictures are classified."""

    tokens: list[Token] = field(default_factory=list)
    """Of the first text, each with the surprise of the model."""

    following: list[Prediction] = field(default_factory=list)
    """What the model expects after the last token."""

    written: str | None = None
    """What a model of pairs writes for the first source."""

    alignment: Alignment | None = None
    """Where it looks in that source for each token."""

    notes: list[str] = field(default_factory=list)
    """What the user should know of how this was made."""

    @property
    def findings(self) -> list[str]:
        """What stands out."""
        return findings(self.layers)

    def tables(self) -> list[TextTable]:
        """Titles, columns and rows of text."""
        return tables(self)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.on}", *self.notes]
        return "\n".join([*lines, *(f"\n{table}" for table in self.tables()), *(f"\n{f}" for f in self.findings)])

    def plain(self) -> dict[str, Any]:
        """All figures as JSON knows them: without pictures, with None for what is no number."""
        values = {
            "name": self.name,
            "on": self.on,
            "loss": self.loss,
            "layers": [{**asdict(layer), "ratio": layer.ratio} for layer in self.layers],
            "attention": [
                {"name": a.name, "reason": a.reason or None, "heads": [asdict(head) for head in a.heads]}
                for a in self.attention
            ],
            "recurrences": [r.plain() for r in self.recurrences],
            "attributions": [item.plain() for item in self.attributions.items],
            "tokens": [asdict(token) for token in self.tokens],
            "following": self.following,
            "written": self.written,
            "alignment": None if self.alignment is None else self.alignment.plain(),
            "findings": self.findings,
            "notes": self.notes,
        }
        return {key: _json(value) for key, value in values.items()}


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
