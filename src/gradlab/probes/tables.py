"""What was seen inside a model as tables of text, for a terminal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradlab.probes.attribution import INTEGRATED
from gradlab.probes.layers import LayerValues
from gradlab.wording import count, number, sparkline

if TYPE_CHECKING:
    from gradlab.probes.alignment import Alignment
    from gradlab.probes.inspection import Inspection

_ROWS = 100  # of a table
_WIDTH = 8  # of a bar, in characters


@dataclass(frozen=True)
class TextTable:
    """Rows of text under a title."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    left_out: int = 0

    def __str__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        written = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        more = [f"… {self.left_out:,} more"] if self.left_out else []
        return "\n".join([self.title, *(line.rstrip() for line in written), *more])


def tables(seen: "Inspection") -> list[TextTable]:
    """Those that have rows."""
    first = [_attributions(seen), _outputs(seen), _gradients(seen)]
    all_tables = [_alignment(seen), *first, _attention(seen), _recurrences(seen), _tokens(seen)]
    return [TextTable(t.title, t.columns, t.rows[:_ROWS], max(0, len(t.rows) - _ROWS)) for t in all_tables if t.rows]


def _alignment(seen: "Inspection") -> TextTable:
    """A mark for each token of the source: the darker, the more it counts."""
    if seen.alignment is not None and seen.alignment.picture is not None:
        return _looks(seen.alignment)
    if seen.alignment is None or not seen.alignment.source:
        return TextTable("", [], [])
    source = "".join(visible(text) if len(text) == 1 else f"{visible(text)} " for text in seen.alignment.source)
    wide = [len(visible(text)) + (len(text) > 1) for text in seen.alignment.source]
    rows = [
        [visible(token), "".join(mark * width for mark, width in zip(marks, wide, strict=True))]
        for token, marks in zip(seen.alignment.target, seen.alignment.shades(), strict=True)
    ]
    return TextTable("Where it looked for each token that it wrote", ["written", source], rows)


def _looks(alignment: "Alignment") -> TextTable:
    """For each token the cell of the picture that counts most, in pixels."""
    assert alignment.grid is not None
    assert alignment.picture is not None
    sides = [pixels / cells for pixels, cells in zip(alignment.picture.shape[1:], alignment.grid, strict=True)]
    rows = []
    for token, weights in zip(alignment.target, alignment.maps(), strict=True):
        row, column = divmod(int(weights.argmax()), alignment.grid[1])
        middle = [number((column + 0.5) * sides[1]), number((row + 0.5) * sides[0])]
        rows.append([visible(token), *middle, number(float(weights.max()))])
    return TextTable("Where it looked most for each token that it wrote", ["written", "x", "y", "weight"], rows)


def _attributions(seen: "Inspection") -> TextTable:
    """The score of a class above that of an empty picture is what integrated gradients add up to."""
    columns = ["picture", "actual", "class", "probability", "score above empty", "integrated gradients"]
    rows = [
        [
            str(item.example),
            "–" if item.actual is None else item.actual,
            item.label,
            *map(number, (item.probability, item.difference, item.maps[INTEGRATED].sum().item())),
        ]
        for item in seen.attributions.items
    ]
    return TextTable("What speaks for the class", columns, rows)


def _outputs(seen: "Inspection") -> TextTable:
    columns = ["layer", "output", "mean", "std", "values", "zero", "dead", "sat."]
    rows = [
        [
            title(layer),
            shape(layer),
            f"{layer.outputs.mean:.2g}",
            f"{layer.outputs.std:.2g}",
            _histogram(layer.outputs.counts),
            percent(layer.zeros),
            f"{layer.dead}/{layer.units}" if layer.dead else "–",
            percent(layer.saturated),
        ]
        for layer in seen.layers
    ]
    return TextTable("What each layer gives", columns, rows)


def _gradients(seen: "Inspection") -> TextTable:
    columns = ["layer", "‖∂output‖", "(log)", "parameters", "‖w‖", "‖∂w‖", "‖∂w‖/‖w‖"]
    rows = [
        [
            title(layer),
            number(layer.gradient),
            bar,
            count(layer.parameters) if layer.parameters else "–",
            *map(number, (layer.weight, layer.weight_gradient, layer.ratio)),
        ]
        for layer, bar in zip(seen.layers, _log_bars([layer.gradient for layer in seen.layers]), strict=True)
    ]
    return TextTable("What gradient reaches each layer", columns, rows if seen.loss is not None else [])


def _attention(seen: "Inspection") -> TextTable:
    columns = ["attention", "head", "entropy", "distance", "first", "itself", "previous"]
    rows = [
        [a.name, str(i), number(h.entropy), number(h.distance), *map(percent, (h.first, h.itself, h.previous))]
        for a in seen.attention
        for i, h in enumerate(a.heads)
    ]
    return TextTable("Where each head looks: entropy in bits, places away, shares of its weight", columns, rows)


def _recurrences(seen: "Inspection") -> TextTable:
    columns = ["recurrent", "", "state std", "gates, mean", "‖∂h‖ first", "‖∂h‖ last", "(log)"]
    rows = []
    for recurrence in seen.recurrences:
        for i, name in enumerate(recurrence.labels):
            gates = ", ".join(f"{gate} {value[i].mean():.2f}" for gate, value in recurrence.gates.items())
            reach = ["–", "–", "–"] if recurrence.reach is None else _ends(recurrence.reach[i].tolist())
            rows.append(
                [recurrence.name, name, number(recurrence.hidden[i].std(correction=0).item()), gates or "–", *reach]
            )
    return TextTable("How far back the last step's error is heard", columns, rows)


def _ends(norms: list[float]) -> list[str]:
    """At the first step, at the last that has any, and all of them as bars on a logarithmic scale."""
    last = max((t for t, norm in enumerate(norms) if norm > 0), default=0)
    lowest = min((norm for norm in norms if norm > 0), default=1.0)  # stands for 0 too
    logs = [math.log10(max(norm, lowest)) for norm in norms[: last + 1]]
    return [number(norms[0]), number(norms[last]), sparkline(logs, 2 * _WIDTH)]


def _tokens(seen: "Inspection") -> TextTable:
    columns = ["token", "bits", "", "expected bits", "what was expected there"]
    most = max((token.bits or 0.0 for token in seen.tokens), default=1.0) or 1.0
    rows = [
        [
            visible(token.text),
            number(token.bits),
            "█" * round(_WIDTH * (token.bits or 0.0) / most),
            number(token.entropy),
            expectations(token.expected),
        ]
        for token in seen.tokens
    ]
    after = [["…", "", "", "", expectations(seen.following)]]
    return TextTable("Surprise", columns, rows + after if rows else [])


def expectations(predictions: Sequence[tuple[str, float]], most: int = 3) -> str:
    return " · ".join(f"{visible(text)} {p:.0%}" for text, p in predictions[:most])


def visible(text: str) -> str:
    """A token's text on one line, with blanks that can be seen.

    >>> visible(" the\\n"), visible("\\x00")
    ('␣the↵', '\\\\x00')
    """
    shown = text.replace("\n", "↵").replace("\t", "⇥").replace(" ", "␣")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown)


def title(layer: LayerValues) -> str:
    """Its name, with what it is if that is but a number."""
    return f"{layer.name} {layer.kind}" if layer.name.rpartition(".")[2].isdigit() else layer.name or "output"


def shape(layer: LayerValues) -> str:
    return "×".join(map(str, layer.shape)) or "1"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _histogram(counts: Sequence[int]) -> str:
    size = -(-len(counts) // _WIDTH)
    return sparkline([sum(counts[i : i + size]) for i in range(0, len(counts), size)], _WIDTH)


def _log_bars(values: Sequence[float | None]) -> list[str]:
    """A bar for each, its length the logarithm, from one block for the smallest on."""
    logs = [math.log10(v) if v is not None and 0 < v < math.inf else None for v in values]
    known = [log for log in logs if log is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    shares = [None if log is None else (log - low) / (high - low) if high > low else 1.0 for log in logs]
    return ["" if share is None else "█" * (1 + round((_WIDTH - 1) * share)) for share in shares]
