"""A recurrent layer over time: its states, its gates, and how far back the gradient reaches."""

from itertools import cycle
from typing import Any

from jaxtyping import Float
from torch import Tensor

from gradlab.markup import Html, quiet, section
from gradlab.probes import Inspection, Recurrence
from gradlab.report.charts import ACCENT, CARD, PALETTE, POOR, Trace, axis, chart, charts, heatmap, line
from gradlab.report.inside.text import places_of, token_axis

_LAYERS, _STATES, _STEPS, _UNITS = 4, 6, 128, 64  # that are drawn


def section_of(seen: Inspection) -> Html:
    """Nothing for a model without recurrent layers."""
    if not seen.recurrences:
        return Html()
    words = (
        "A recurrent layer carries all that it has read in one state. States and gates are those of the first example, "
        f"of at most {_UNITS} units and {_STEPS} steps; gradients are those of the whole batch."
    )
    texts = [token.text for token in seen.tokens]
    figures = [figure for recurrence in seen.recurrences[:_LAYERS] for figure in _figures(recurrence, texts)]
    return section("Over time", quiet(words), charts(*figures))


def _figures(recurrence: Recurrence, texts: list[str]) -> list[Html]:
    steps = min(recurrence.hidden.shape[2], _STEPS)
    places = places_of(texts[:steps] or [str(t) for t in range(steps)])
    figures = [] if recurrence.reach is None else [_reach(recurrence.labels, recurrence.reach)]
    for i, name in enumerate(recurrence.labels[:_STATES]):
        title = f"{recurrence.name}, {name}" if recurrence.name else name
        figures.append(_states(f"{title}: states", recurrence.hidden[i, 0, :steps, :_UNITS], places))
        if recurrence.gates:
            gates = {gate: value[i, 0, :steps].mean(-1) for gate, value in recurrence.gates.items()}
            traces = _lines(gates, places, "%{x}: %{y:.2f}<extra></extra>")
            mean = axis("mean over its units", range=[0, 1])
            figures.append(chart(f"{title}: gates", traces, height=360, xaxis=token_axis(places), yaxis=mean))
    return figures


def _reach(labels: list[str], norms: Float[Tensor, "states time"]) -> Html:
    positive = {name: [norm or None for norm in row.tolist()] for name, row in zip(labels, norms, strict=True)}
    note = (
        "The norm of the gradient, with respect to the state of each step, of what the loss has of the last step. The "
        "steeper it falls towards the left, the sooner the layer forgets what it was wrong about: it vanishes."
    )
    traces = _lines(positive, range(norms.shape[1]), "step %{x}: %{y:.3~g}<extra></extra>")
    scale = axis("norm, logarithmic", type="log", exponentformat="power")
    return chart("How far back the last step's error is heard", traces, note, xaxis=axis("step"), yaxis=scale)


def _states(title: str, states: Float[Tensor, "time units"], places: list[str]) -> Html:
    size = max(1.0, states.abs().max().item())
    heat = heatmap(
        states.T.double().cpu().numpy().round(3),
        [(0, POOR), (0.5, CARD), (1, ACCENT)],
        "unit %{y} after %{x}: %{z:.2f}<extra></extra>",
        x=places,
        zmin=-size,
        zmax=size,
        showscale=True,
        colorbar={"thickness": 8, "outlinewidth": 0, "len": 0.9},
    )
    return chart(title, [heat], height=360, xaxis=token_axis(places), yaxis=axis("unit", showgrid=False))


def _lines(values: dict[str, Any], x: Any, hover: str) -> list[Trace]:
    return [line(name, x, y, color, hover) for (name, y), color in zip(values.items(), cycle(PALETTE))]
