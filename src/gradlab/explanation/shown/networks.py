"""Pictures of what networks are made of: activations, softmax, codes of positions, and a small network itself."""

from typing import Any

import numpy as np
import torch
from torch import nn

from gradlab.explanation.examples.networks import realisation
from gradlab.explanation.picture import Figure, shown
from gradlab.nn import ELU, GELU, LeakyReLU, ReLU, Sigmoid, SiLU, SinusoidalPosition, Softmax, Tanh
from gradlab.report.charts import INK, LINE, PALETTE, axis, bars, heatmap, label, line
from gradlab.report.sliders import WITH_SLIDER, slider

_DIVERGING = [(0, "#b2182b"), (0.25, "#f4a582"), (0.5, "#f7f7f7"), (0.75, "#92c5de"), (1, "#2166ac")]


@shown("softmax-temperature", "activation.softmax", "softmax-range-sum")
def from_even_to_certain() -> Figure:
    """Softmax at a temperature."""
    scores = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0])
    temperatures = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0)
    names = [f"x = {score:g}" for score in scores.tolist()]
    start, hover = temperatures.index(1.0), "%{x}: %{y:.4f}<extra></extra>"
    traces = []
    for i, temperature in enumerate(temperatures):
        weights = Softmax(temperature=temperature)(scores)
        text = [f"{weight:.3f}" for weight in weights.tolist()]
        traces.append(bars(names, weights, hover, visible=i == start, text=text, textposition="outside"))
    note = (
        "The weights softmax(x / T). At T = 1 they are softmax itself. Hot, all are nearly the same; cold, all weight "
        "goes to the largest: the error is at most (n − 1) e^(−gap/T), where the gap is that to the second largest."
    )
    layout = {
        "xaxis": axis("score"),
        "yaxis": axis("weight", range=[0, 1.1]),
        "showlegend": False,
        "sliders": [slider("temperature ", [f"{t:g}" for t in temperatures], range(len(temperatures)), start)],
        "margin": WITH_SLIDER | {"t": 12},
    }
    return Figure(traces, note, layout)


ACTIVATIONS: list[nn.Module] = [ReLU(), LeakyReLU(), ELU(), GELU(), SiLU(), Sigmoid(), Tanh()]


@shown("activations", "activation.relu", "activation.sigmoid", "activation.tanh", "activation.gelu", "activation.elu")
def activations_and_their_slopes() -> Figure:
    """Activations and their slopes."""
    x = torch.linspace(-4, 4, 401, dtype=torch.float64)
    traces = []
    for color, activation in zip(PALETTE, ACTIVATIONS, strict=True):
        at = x.clone().requires_grad_()
        values = activation(at)
        (slopes,) = torch.autograd.grad(values.sum(), at)
        name = type(activation).__name__
        hover = "%{x:.2f}: %{y:.3f}<extra>" + label(name) + "</extra>"
        traces += [
            line(name, x, values.detach(), color, hover, legendgroup=name),
            line(name, x, slopes, color, hover, xaxis="x2", yaxis="y2", showlegend=False, legendgroup=name),
        ]
    note = (
        "On the left the functions, on the right their slopes, by which gradients are multiplied on their way back. "
        "Those of the sigmoid are a quarter at most and soon nothing: layers of it let a gradient fade. The slope of "
        "ReLU is 1 or exactly 0. Click a name to hide it."
    )
    layout = {
        "xaxis": axis("x", domain=[0, 0.47]),
        "yaxis": axis("activation", range=[-1.3, 3]),
        "xaxis2": _side("x", domain=[0.55, 1], anchor="y2"),
        "yaxis2": _side("slope", range=[-0.2, 1.25], anchor="x2"),
    }
    return Figure(traces, note, layout)


def _side(title: str, **options: Any) -> dict[str, Any]:
    """A further axis, which looks like the first."""
    lines = {"gridcolor": LINE, "linecolor": LINE, "zeroline": False, "automargin": True, "fixedrange": True}
    return {**lines, **axis(title, **options)}


@shown("position-codes")
def codes_of_positions() -> Figure:
    """Codes of positions."""
    length, dim = 64, 64
    codes = SinusoidalPosition(dim)(torch.zeros(length, dim))
    hover = "position %{y}, entry %{x}: %{z:.2f}<extra></extra>"
    trace = heatmap(codes, _DIVERGING, hover, zmin=-1, zmax=1, showscale=True)
    trace["colorbar"] = {"title": {"text": "entry"}, "tickfont": {"color": INK}, "thickness": 14}
    note = (
        "Each row is the code of a position: sines and cosines of 32 frequencies, from one turn in six positions on "
        "the left to one in 47,000 on the right. Near positions have like codes, and a step by k is the same rotation "
        "of all pairs, whatever the position."
    )
    layout = {
        "xaxis": axis("entry of the code"),
        "yaxis": axis("position", autorange="reversed"),
        "showlegend": False,
    }
    return Figure([trace], note, layout)


@shown("nn-2-5-1", "two-layer-net")
def random_realisations() -> Figure:
    """Random networks."""
    ticks = torch.linspace(-3, 3, 61)
    plane = torch.stack(torch.meshgrid(ticks, ticks, indexing="xy"), -1)
    traces, layout = [], dict[str, Any]()
    for place, seed in enumerate((0, 1, 2, 4, 5, 7)):
        values = realisation(seed)(plane)[..., 0]
        row, column = divmod(place, 3)
        number = "" if place == 0 else str(place + 1)
        most = float(values.abs().max())
        hover = "f(%{x:.1f}, %{y:.1f}) = %{z:.2f}<extra></extra>"
        traces.append(
            {
                "type": "contour",
                "x": ticks,
                "y": ticks,
                "z": np.round(values.numpy(), 4),
                "colorscale": _DIVERGING,
                "zmin": -most,
                "zmax": most,
                "ncontours": 18,
                "line": {"width": 0.6, "color": "#555555"},
                "showscale": False,
                "hovertemplate": hover,
                "xaxis": f"x{number}",
                "yaxis": f"y{number}",
            }
        )
        across, down = [column * 0.35, column * 0.35 + 0.29], [0.56 - row * 0.56, 1 - row * 0.56]
        layout[f"xaxis{number}"] = _side("x₁" if row else "", domain=across, anchor=f"y{number}")
        layout[f"yaxis{number}"] = _side("x₂" if not column else "", domain=down, anchor=f"x{number}")
    note = (
        "Six networks with 2 inputs, 5 hidden ReLU units and 1 output, whose 21 parameters are normal numbers. Each "
        "hidden unit folds the plane along a line; between the folds the function is affine, and its lines of equal "
        "height are straight. Blue is above 0, red below."
    )
    return Figure(traces, note, {**layout, "height": 540, "showlegend": False})
