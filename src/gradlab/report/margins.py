"""The margin between classes: its lines in the plane, the support vectors, and how far examples are from it."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gradlab.markup import Html, quiet, section
from gradlab.report.charts import INK, PALETTE, Trace, axis, chart, charts, dots, histogram, level, thinned
from gradlab.report.regions import has_regions
from gradlab.wording import counted

if TYPE_CHECKING:
    from gradlab.models.support_vectors import SupportVectors
    from gradlab.run import Run

Numbers = npt.NDArray[np.float64]

_SIDE = 150  # points of the plane in each direction
_MOST = 20_000  # examples that are looked at
_AT = 1e-2  # of the margin, within which an example of a model trained by gradients lies on it


def margin_section(run: "Run") -> Html:
    """Nothing where there are several classes, of which each pair would have a margin of its own."""
    from gradlab.models.support_vectors import SupportVectors
    from gradlab.tasks.margin import Margin

    assert isinstance(run.task, Margin)
    train = run.dataset.train
    if run.task.outputs != 1 or len(train) == 0:
        return Html()
    shown = np.array(thinned(range(len(train)), _MOST))
    inputs = np.asarray(run.dataset.raw.inputs[train.rows[shown]])
    values = run.outputs(inputs).double().numpy()[:, 0]
    classes = train.targets.numpy()[shown]
    margins = (2.0 * classes - 1.0) * values
    machine = run.model if isinstance(run.model, SupportVectors) else None
    support = margins <= 1 + _AT if machine is None else np.isin(shown, machine.rows.numpy())
    figures = [_plane(run, inputs, values, classes, support)] if has_regions(run) else []
    figures.append(_distances(margins))
    return section("Margin", quiet(_words(margins, support, machine)), *map(charts, figures))


def _words(margins: Numbers, support: npt.NDArray[np.bool_], machine: "SupportVectors | None") -> str:
    words = (
        f"{counted(int(support.sum()), 'support vector')} of {counted(len(margins), 'training example')}; "
        f"{int((margins < 1 - _AT).sum()):,} lie inside the margin or beyond it, {int((margins < 0).sum()):,} of them "
        "on the wrong side."
    )
    if machine is not None and not machine.optimal:
        words += (
            f" This is not the optimum yet: its conditions are violated by {float(machine.violation):.3g}, where "
            f"model.tol is {machine.settings.tol:g}. Train for more steps (train.epochs), or raise model.updates."
        )
    return words


def _plane(
    run: "Run",
    inputs: npt.NDArray[Any],
    values: Numbers,
    classes: npt.NDArray[np.int64],
    support: npt.NDArray[np.bool_],
) -> Html:
    low, high = np.nanmin(inputs, 0), np.nanmax(inputs, 0)
    border = 0.08 * np.maximum(high - low, 1e-9)
    x, y = (np.linspace(a, b, _SIDE) for a, b in zip(low - border, high + border, strict=True))
    grid = np.stack([part.ravel() for part in np.meshgrid(x, y)], axis=1)
    z = run.outputs(grid.astype(inputs.dtype)).double().numpy()[:, 0].reshape(_SIDE, _SIDE)
    names = run.data["targets"]["classes"]
    points = [_points(names[c], inputs, values, (classes == c) & ~support, c, "circle") for c in (0, 1)]
    rings = [
        _points(f"{names[c]}: support vectors", inputs, values, (classes == c) & support, c, "ring") for c in (0, 1)
    ]
    first, second = run.data["inputs"]["features"] or ("x0", "x1")
    return chart(
        "Margin and support vectors",
        [_contour(x, y, z, "f = ±1", -1, 1, "dash"), _contour(x, y, z, "f = 0", 0, 0, "solid"), *points, *rings],
        "Training examples; support vectors have a dark ring. The solid line is where the decision value f is 0, the "
        "dashed lines, where it is -1 and 1, are the margin.",
        height=520,
        xaxis=axis(first, range=[x[0], x[-1]], showgrid=False),
        yaxis=axis(second, range=[y[0], y[-1]], showgrid=False),
    )


def _contour(x: Numbers, y: Numbers, z: Numbers, name: str, start: float, end: float, dash: str) -> Trace:
    lines = {"start": start, "end": end, "size": 2, "coloring": "none"}
    style = {"color": INK, "width": 2, "dash": dash}
    return {
        "type": "contour", "name": name, "x": x, "y": y, "z": z, "contours": lines, "line": style,
        "autocontour": False, "showscale": False, "showlegend": True, "hoverinfo": "skip",
    }  # fmt: skip


def _points(
    name: str, inputs: npt.NDArray[Any], values: Numbers, which: npt.NDArray[np.bool_], index: int, kind: str
) -> Trace:
    members = thinned(np.flatnonzero(which).tolist())
    ring = kind == "ring"
    border = {"color": INK if ring else "#ffffff", "width": 2 if ring else 1}
    x, y = inputs[members].T if members else (np.array([]), np.array([]))
    hover = "%{x:.3~g}, %{y:.3~g}: f = %{customdata:.3f}"
    style = {"size": 10 if ring else 7, "opacity": 1 if ring else 0.7, "line": border}
    return dots(name, x, y, PALETTE[index], hover, custom=values[members], **style)


def _distances(margins: Numbers) -> Html:
    return histogram(
        "Distance from the decision boundary",
        margins,
        "y f(x) of the training examples, where y is -1 or 1: below 0 an example is on the wrong side, at 1 (the line) "
        "it lies on the margin, beyond it costs nothing.",
        shapes=[level(1.0, across="y")],
        xaxis=axis("y f(x)"),
    )
