"""The figures of a probe as tables of text, for a terminal."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradlab.probes import Layer
from gradlab.wording import count, number, sparkline

if TYPE_CHECKING:
    from gradlab.report.probing.probe import Probe

_ROWS = 100  # of a table
_WIDTH = 8  # of a bar, in characters


@dataclass(frozen=True)
class Table:
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


def tables(probe: "Probe") -> list[Table]:
    """Those that have rows."""
    made = [_outputs(probe), _gradients(probe), _attention(probe), _recurrences(probe), _tokens(probe)]
    return [Table(t.title, t.columns, t.rows[:_ROWS], max(0, len(t.rows) - _ROWS)) for t in made if t.rows]


def _outputs(probe: "Probe") -> Table:
    rows = [
        [
            title(layer),
            shape(layer),
            f"{layer.outputs.mean:.2g}",
            f"{layer.outputs.std:.2g}",
            histogram(layer.outputs.counts),
            percent(layer.zeros),
            f"{layer.dead}/{layer.units}" if layer.dead else "–",
            percent(layer.saturated),
        ]
        for layer in probe.layers
    ]
    columns = ["layer", "output", "mean", "std", "values", "zero", "dead", "sat."]
    return Table("What each layer gives", columns, rows)


def _gradients(probe: "Probe") -> Table:
    if probe.loss is None:
        return Table("", [], [])
    bars = _log_bars([layer.gradient for layer in probe.layers])
    rows = [
        [
            title(layer),
            number(layer.gradient),
            bar,
            count(layer.parameters) if layer.parameters else "–",
            *(number(value) for value in (layer.weight, layer.weight_gradient, layer.ratio)),
        ]
        for layer, bar in zip(probe.layers, bars, strict=True)
    ]
    columns = ["layer", "‖∂output‖", "(log)", "parameters", "‖w‖", "‖∂w‖", "‖∂w‖/‖w‖"]
    return Table("What gradient reaches each layer", columns, rows)


def _attention(probe: "Probe") -> Table:
    rows = []
    for attention in probe.attention:
        rows += [
            [
                attention.name,
                str(i),
                number(head.entropy),
                number(head.distance),
                *(percent(share) for share in (head.first, head.itself, head.previous)),
            ]
            for i, head in enumerate(attention.heads)
        ]
    columns = ["attention", "head", "entropy", "distance", "first", "itself", "previous"]
    return Table("Where each head looks: entropy in bits, places away, shares of its weight", columns, rows)


def _recurrences(probe: "Probe") -> Table:
    rows = []
    for recurrence in probe.recurrences:
        for i, name in enumerate(recurrence.labels):
            reach = None if recurrence.reach is None else recurrence.reach[i].tolist()
            gates = [f"{gate} {value[i].mean():.2f}" for gate, value in recurrence.gates.items()]
            rows.append(
                [
                    recurrence.name,
                    name,
                    number(recurrence.hidden[i].std(correction=0).item()),
                    ", ".join(gates) or "–",
                    *(["–", "–", "–"] if reach is None else _ends(reach)),
                ]
            )
    columns = ["recurrent", "", "state std", "gates, mean", "‖∂h‖ first", "‖∂h‖ last", "(log)"]
    return Table("How far back the last step's error is heard", columns, rows)


def _ends(norms: list[float]) -> list[str]:
    """At the first step, at the last that has any, and all of them as bars."""
    last = max((t for t, norm in enumerate(norms) if norm > 0), default=0)
    return [number(norms[0]), number(norms[last]), logarithms(norms[: last + 1])]


def _tokens(probe: "Probe") -> Table:
    most = max((token.bits or 0.0 for token in probe.tokens), default=1.0) or 1.0
    rows = [
        [
            visible(token.text),
            number(token.bits),
            "█" * round(_WIDTH * (token.bits or 0.0) / most),
            number(token.entropy),
            foretold(token.expected),
        ]
        for token in probe.tokens
    ]
    if rows:
        rows.append(["…", "", "", "", foretold(probe.following)])
    return Table("Surprise", ["token", "bits", "", "expected bits", "what was expected there"], rows)


def foretold(predictions: Sequence[tuple[str, float]], most: int = 3) -> str:
    return " · ".join(f"{visible(text)} {p:.0%}" for text, p in predictions[:most])


def visible(text: str) -> str:
    """A token's text on one line, with blanks that can be seen.

    >>> visible(" the\\n"), visible("\\x00")
    ('␣the↵', '\\\\x00')
    """
    shown = text.replace("\n", "↵").replace("\t", "⇥").replace(" ", "␣")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown)


def title(layer: Layer) -> str:
    """Its name, with what it is if that is but a number."""
    return f"{layer.name} {layer.kind}" if layer.name.rpartition(".")[2].isdigit() else layer.name or "output"


def shape(layer: Layer) -> str:
    return "×".join(map(str, layer.shape)) or "1"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def histogram(counts: Sequence[int]) -> str:
    size = -(-len(counts) // _WIDTH)
    return sparkline([sum(counts[i : i + size]) for i in range(0, len(counts), size)], _WIDTH)


def logarithms(values: Sequence[float]) -> str:
    """A line of bars on a logarithmic scale; what is 0 has the lowest."""
    positive = [math.log10(value) for value in values if value > 0]
    lowest = min(positive, default=0.0)
    return sparkline([math.log10(value) if value > 0 else lowest for value in values], 2 * _WIDTH)


def _log_bars(values: Sequence[float | None]) -> Iterator[str]:
    """A bar for each, its length the logarithm, from one block for the smallest on."""
    logs = [math.log10(v) if v is not None and 0 < v < math.inf else None for v in values]
    known = [log for log in logs if log is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    for log in logs:
        share = 0.0 if log is None else (log - low) / (high - low) if high > low else 1.0
        yield "" if log is None else "█" * (1 + round((_WIDTH - 1) * share))
