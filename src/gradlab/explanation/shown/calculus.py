"""Pictures of slopes: polynomials that meet a function, and the way down."""

import numpy as np
import torch
from torch import Tensor

from gradlab.explanation.picture import Figure, shown
from gradlab.maths.calculus import gradient, steepest_descent, taylor
from gradlab.report.charts import ACCENT, CARD, HEAT, INK, PALETTE, POOR, SOFT, axis, dots, line


@shown("taylor-polynomials", "taylor-first-order", "maths.taylor", "maths.linear_approximation")
def polynomials_that_meet_a_function() -> Figure:
    """Polynomials that meet the sine at a point."""
    x, at = torch.linspace(-4, 4, 401, dtype=torch.float64), 0.6
    hover = "x = %{x:.2f}: %{y:.3f}<extra></extra>"
    traces = [line("sin x", x, x.sin(), INK, hover, 3)]
    for color, degree in zip(PALETTE, (1, 2, 3, 5, 7), strict=False):
        values = taylor(torch.sin, at, degree)(x)
        traces.append(line(f"degree {degree}", x, torch.where(values.abs() < 2.6, values, torch.nan), color, hover))
    traces.append(dots("where they meet", [at], [np.sin(at)], INK, hover, size=9))
    note = (
        f"The Taylor polynomials of the sine at {at}: each has its value there and as many derivatives as its degree. "
        "The first is the tangent, which is off by a square of the distance; a higher degree follows further, and then "
        "leaves faster."
    )
    layout = {"xaxis": axis("x"), "yaxis": axis("value", range=[-2.2, 2.2])}
    return Figure(traces, note, layout)


def _bowl(x: Tensor) -> Tensor:
    """Four times as steep along one direction as along the other, and turned."""
    u, v = (x[0] + x[1]) / 2**0.5, (x[0] - x[1]) / 2**0.5
    return 0.5 * u**2 + 2 * v**2


@shown("gradient-field", "steepest-descent", "maths.steepest_descent", "maths.gradient")
def the_way_down() -> Figure:
    """The gradient and the way down."""
    ticks = torch.linspace(-2, 2, 81, dtype=torch.float64)
    points = torch.stack(torch.meshgrid(ticks, ticks, indexing="xy"), -1)
    heights = torch.vmap(torch.vmap(_bowl))(points)
    contours = {
        "type": "contour",
        "x": ticks,
        "y": ticks,
        "z": heights,
        "colorscale": [(0, CARD), (1, HEAT)],
        "showscale": False,
        "contours": {"start": 0.25, "end": 12, "size": 0.75},
        "line": {"width": 1, "color": SOFT},
        "hovertemplate": "f(%{x:.2f}, %{y:.2f}) = %{z:.2f}<extra></extra>",
        "name": "f",
    }
    corners = np.arange(-1.75, 2, 0.5)
    places = [torch.tensor([a, b], dtype=torch.float64) for a in corners for b in corners]
    arrows = [_arrow(place, steepest_descent(gradient(_bowl, place)), 0.3, ACCENT, 1.6) for place in places]
    here = torch.tensor([1.25, 0.75], dtype=torch.float64)
    slope = gradient(_bowl, here)
    chosen = [
        _arrow(here, steepest_descent(slope), 0.95, POOR, 3.5),
        _arrow(here, -here / here.norm(), 0.95, INK, 3.5),
    ]
    keys = [
        dots("steepest descent, −∇f / ‖∇f‖", [None], [None], POOR, size=10),
        dots("straight to the minimum", [None], [None], INK, size=10),
        dots("minimum", [0], [0], INK, "minimum<extra></extra>", size=10, symbol="x"),
    ]
    note = (
        "At every place the arrow goes down fastest: across the line of equal height, which is not towards the minimum "
        f"unless the bowl is round. At (1.25, 0.75) the slope along it is −{slope.norm():.2f}, and along the straight "
        f"way −{float(slope @ here / here.norm()):.2f}."
    )
    layout = {
        "xaxis": axis("x₁", range=[-2, 2], constrain="domain"),
        "yaxis": axis("x₂", range=[-2, 2], scaleanchor="x", constrain="domain"),
        "annotations": [*arrows, *chosen],
        "height": 540,
    }
    return Figure([contours, *keys], note, layout)


def _arrow(start: Tensor, direction: Tensor, length: float, color: str, width: float) -> dict[str, object]:
    end = start + length * direction
    tail = {"ax": float(start[0]), "ay": float(start[1]), "axref": "x", "ayref": "y", "xref": "x", "yref": "y"}
    head = {"x": float(end[0]), "y": float(end[1]), "showarrow": True, "arrowhead": 2, "arrowsize": 1}
    return {**tail, **head, "arrowwidth": width, "arrowcolor": color, "text": ""}
