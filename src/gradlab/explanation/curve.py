"""An activation drawn: its values and its slope."""

from itertools import pairwise

import torch
from torch import Tensor

from gradlab.nn.activations import Activation
from gradlab.report.markup import Html, tag

REACH = 4.0  # the curve is drawn from -4 to 4, on either axis
SCALE = 60  # pixels for 1


def curve(activation: Activation) -> Html:
    """A picture of f in the accent colour and f' in the other, over axes with their units."""
    x = torch.linspace(-REACH, REACH, 401, requires_grad=True)
    y = activation(x)
    slope = torch.autograd.grad(y.sum(), x)[0] if y.requires_grad else torch.zeros_like(x)
    size = f"{2 * REACH * SCALE:g}"
    lines = [_axis(0, vertical=True), _axis(0, vertical=False), *_ticks()]
    lines += [_line(x, slope, "var(--train)"), _line(x, y, "var(--accent)")]
    return tag("svg", *lines, viewBox=f"0 0 {size} {float(size) * 0.75:g}", role="img")


def _line(x: Tensor, y: Tensor, colour: str) -> Html:
    """One stroke, broken where the function jumps."""
    points = [(_across(a), _up(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (_, before), (a, b) in pairwise(points):
        path += f"{'M' if abs(b - before) > SCALE / 2 else 'L'}{a:.1f},{b:.1f}"
    return tag("path", d=path, fill="none", stroke=colour, **{"stroke-width": "2.5"})


def _axis(at: float, vertical: bool) -> Html:
    ends = {"x1": _across(at), "x2": _across(at), "y1": 0.0, "y2": 1.5 * REACH * SCALE}
    if not vertical:
        ends = {"x1": 0.0, "x2": 2 * REACH * SCALE, "y1": _up(at), "y2": _up(at)}
    return tag("line", stroke="var(--line)", **{key: f"{value:g}" for key, value in ends.items()})


def _ticks() -> list[Html]:
    words = [(str(i), _across(i) + 4, _up(0) + 16) for i in (-3, -2, -1, 1, 2, 3)]
    words += [(str(i), _across(0) + 6, _up(i) + 4) for i in (-1, 1, 2, 3)]
    style = {"fill": "var(--soft)", "font-size": "12"}
    return [tag("text", word, x=f"{x:g}", y=f"{y:g}", **style) for word, x, y in words]


def _across(x: float) -> float:
    return (x + REACH) * SCALE


def _up(y: float) -> float:
    return (REACH - y) * SCALE
