"""A recurrent layer over time: its states, its gates, and how far back the gradient reaches."""

from typing import TYPE_CHECKING, Any

import torch

from gradlab.probes import Recurrence
from gradlab.report.charts import ACCENT, CARD, PALETTE, axis, chart, charts
from gradlab.report.markup import Html, section, tag
from gradlab.report.probing.text import places_of, token_axis

if TYPE_CHECKING:
    from gradlab.report.probing.probe import Probe

_LAYERS, _STATES, _STEPS, _UNITS = 4, 6, 128, 64  # that are drawn


def section_of(probe: "Probe") -> Html:
    """Nothing for a model without recurrent layers."""
    if not probe.recurrences:
        return Html()
    words = (
        "A recurrent layer carries all that it has read in one state. States and gates are those of the first example, "
        f"of at most {_UNITS} units and {_STEPS} steps; gradients are those of the whole batch."
    )
    drawn = [figure for r in probe.recurrences[:_LAYERS] for figure in _figures(r, probe)]
    return section("Over time", tag("p", words, class_="quiet"), charts(*drawn))


def _figures(recurrence: Recurrence, probe: "Probe") -> list[Html]:
    steps = min(recurrence.hidden.shape[2], _STEPS)
    texts = [token.text for token in probe.tokens[:steps]] or [str(t) for t in range(steps)]
    places = places_of(texts)
    drawn = []
    if recurrence.reach is not None:
        drawn.append(_reach(recurrence, places_of([""] * recurrence.reach.shape[1])))
    for i, name in enumerate(recurrence.labels[:_STATES]):
        title = f"{recurrence.name}, {name}" if recurrence.name else name
        drawn.append(_states(f"{title}: states", recurrence.hidden[i, 0, :steps, :_UNITS], places))
        if recurrence.gates:
            gates = {gate: value[i, 0, :steps].mean(-1).tolist() for gate, value in recurrence.gates.items()}
            drawn.append(_lines(f"{title}: gates", gates, places, "mean over its units", range=[0, 1]))
    return drawn


def _reach(recurrence: Recurrence, places: list[str]) -> Html:
    assert recurrence.reach is not None
    norms = {name: [v or None for v in recurrence.reach[i].tolist()] for i, name in enumerate(recurrence.labels)}
    note = (
        "The norm of the gradient, with respect to the state of each step, of what the loss has of the last step. The "
        "steeper it falls towards the left, the sooner the layer forgets what it was wrong about: it vanishes."
    )
    count = len(places)
    traces = [
        {
            "name": name,
            "x": list(range(count)),
            "y": values,
            "mode": "lines",
            "line": {"color": PALETTE[i % len(PALETTE)], "width": 2},
            "hovertemplate": "step %{x}: %{y:.3~g}<extra></extra>",
        }
        for i, (name, values) in enumerate(norms.items())
    ]
    scale = axis("norm, logarithmic", type="log", exponentformat="power")
    return chart("How far back the last step's error is heard", traces, note, xaxis=axis("step"), yaxis=scale)


def _states(title: str, states: torch.Tensor, places: list[str]) -> Html:
    size = max(1.0, states.abs().max().item())
    heat = {
        "type": "heatmap",
        "x": places,
        "z": states.T.double().cpu().numpy().round(3).tolist(),
        "zmin": -size,
        "zmax": size,
        "colorscale": [[0, "var(--poor)"], [0.5, CARD], [1, ACCENT]],
        "colorbar": {"thickness": 8, "outlinewidth": 0, "len": 0.9},
        "hovertemplate": "unit %{y} after %{x}: %{z:.2f}<extra></extra>",
    }
    return chart(title, [heat], height=360, xaxis=token_axis(places), yaxis=axis("unit", showgrid=False))


def _lines(title: str, lines: dict[str, list[float]], places: list[str], what: str, **scale: Any) -> Html:
    traces = [
        {
            "name": name,
            "x": places,
            "y": values,
            "mode": "lines",
            "line": {"color": PALETTE[i % len(PALETTE)], "width": 2},
            "hovertemplate": "%{x}: %{y:.2f}<extra></extra>",
        }
        for i, (name, values) in enumerate(lines.items())
    ]
    return chart(title, traces, height=360, xaxis=token_axis(places), yaxis=axis(what, **scale))
