"""A drawing of a graph: its nodes by what is predicted of them, with what is wrong marked."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gradlab.markup import Html
from gradlab.printable import printable
from gradlab.report.charts import INK, PALETTE, SOFT, Trace, axis, chart, dots, label
from gradlab.report.predictions import Predictions

if TYPE_CHECKING:
    from gradlab.data.graphs.raw import RawGraphs
    from gradlab.run import Run

Numbers = npt.NDArray[np.float64]

_MOST = 400  # nodes that a drawing shows legibly
_NAMED, _LONGEST = 50, 12  # nodes whose names stand beside them, and characters of a name
_ROUNDS = 200
_WRONG = "#cc3311"


def can_be_drawn(raw: "RawGraphs") -> bool:
    """Up to some hundred nodes, which are asked for."""
    return raw.level == "node" and len(raw.nodes) <= _MOST


def graph_figure(run: "Run", predictions: Predictions) -> Html:
    """The graph with what is predicted of its nodes."""
    raw: RawGraphs = run.dataset.raw
    if not can_be_drawn(raw) or raw.queried is None:
        return Html()
    places = place_nodes(raw.edges, len(raw.nodes))
    x, y = places.T
    names, marks = _names(raw), []
    tested, known = raw.queried[predictions.rows, 0], raw.queried[run.dataset.train.rows, 0]
    for c, name in enumerate(predictions.classes):
        color = PALETTE[c % len(PALETTE)]
        of = tested[predictions.predicted == c]
        labelled = known[run.dataset.train.targets.numpy() == c]
        for kind, nodes, marker in ((name, of, {"size": 10}), (f"{name}, a training label", labelled, _SQUARE)):
            if len(nodes):
                custom = [label(names[i]) for i in nodes]
                marks.append(
                    dots(kind, x[nodes], y[nodes], color, "%{customdata}<extra></extra>", custom=custom, **marker)
                )
    wrong = tested[predictions.predicted != predictions.actual]
    if len(wrong):
        ring = {"symbol": "circle-open", "size": 17, "line": {"width": 2.5, "color": _WRONG}}
        marks.append(dots("wrong", x[wrong], y[wrong], _WRONG, "wrong<extra></extra>", **ring))
    note = "Colours are predictions of test nodes; squares are labels that training had, rings mark what is wrong."
    return drawing("The graph", raw, places, marks, note)


_SQUARE = {"symbol": "square", "size": 13, "line": {"width": 1.5, "color": INK}}


def drawing(title: str, raw: "RawGraphs", places: Numbers, marks: list[Trace], note: str) -> Html:
    """Edges as lines, with marks on the nodes, and beside few nodes their names."""
    x, y = places.T
    bare = {"showgrid": False, "zeroline": False, "showline": False, "showticklabels": False, "ticks": ""}
    few = [_beside(x, y, _names(raw))] if len(raw.nodes) <= _NAMED else []
    return chart(
        title, [_lines(raw, x, y), *marks, *few], note, height=520, showlegend=True, xaxis=axis("", **bare),
        yaxis=axis("", scaleanchor="x", **bare),
    )  # fmt: skip


def _names(raw: "RawGraphs") -> list[str]:
    return raw.node_names or [str(i) for i in range(len(raw.nodes))]


def _beside(x: Numbers, y: Numbers, names: list[str]) -> Trace:
    """Names above the nodes, from which marks that are not seen keep them apart."""
    texts, unseen = [label(printable(name, _LONGEST)) for name in names], {"size": 14, "opacity": 0}
    return {"x": x, "y": y, "mode": "markers+text", "marker": unseen, "text": texts, "textposition": "top center",
            "textfont": {"size": 10, "color": SOFT}, "hoverinfo": "skip", "showlegend": False}  # fmt: skip


def _lines(raw: "RawGraphs", x: Numbers, y: Numbers) -> Trace:
    """All edges as one line with gaps."""
    first, second = raw.edges[:, raw.edges[0] < raw.edges[1]] if not raw.directed else raw.edges
    gaps = [None] * len(first)
    along = (
        [v for ends in zip(z[first].tolist(), z[second].tolist(), gaps, strict=True) for v in ends] for z in (x, y)
    )
    xs, ys = along
    return {"x": xs, "y": ys, "mode": "lines", "line": {"color": SOFT, "width": 0.8}, "opacity": 0.6,
            "hoverinfo": "skip", "showlegend": False}  # fmt: skip


def place_nodes(edges: npt.NDArray[np.int64], nodes: int) -> Numbers:
    """Where to draw nodes: neighbours attract, all repel each other, from a start by the graph's slowest waves.

    Fruchterman & Reingold 1991. The start is the second and third eigenvector of the normalised Laplacian, so that the
    drawing is a function of the graph alone.
    """
    adjacency = np.zeros((nodes, nodes))
    adjacency[edges[0], edges[1]] = adjacency[edges[1], edges[0]] = 1.0
    scale = 1 / np.sqrt(np.maximum(adjacency.sum(1), 1))
    _, waves = np.linalg.eigh(np.eye(nodes) - scale[:, None] * adjacency * scale)
    places = np.zeros((nodes, 2))
    slowest = waves[:, 1:3]
    places[:, : slowest.shape[1]] = slowest * np.sqrt(nodes)
    places += 1e-3 * np.stack([np.cos(np.arange(nodes)), np.sin(np.arange(nodes))], axis=1)  # none on another
    length = 1 / np.sqrt(max(1, nodes))
    for heat in np.linspace(0.1, 0.001, _ROUNDS):
        apart = places[:, None] - places
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-6)
        pull = length**2 / distance**2 - adjacency * distance / length
        moves = (apart * pull[..., None]).sum(1) - places * length  # a pull to the middle keeps parts together
        steps = np.maximum(np.linalg.norm(moves, axis=1, keepdims=True), 1e-9)
        places = places + moves / steps * np.minimum(steps, heat)
    return places
