"""Pictures of what networks can be."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch

from gradlab.explanation.picture import Figure, shown
from gradlab.maths.expressiveness.approximation import interpolate
from gradlab.maths.expressiveness.layers import relu_layers
from gradlab.maths.expressiveness.plane import pyramid
from gradlab.maths.expressiveness.regions import affine_regions, most_regions
from gradlab.maths.expressiveness.tent import tent_network
from gradlab.nn import ReLU
from gradlab.report.charts import ACCENT, CARD, HEAT, INK, PALETTE, POOR, SOFT, Trace, axis, dots, heatmap, line
from gradlab.report.sliders import WITH_SLIDER, slider

_HUES = 24  # colours of directions


@shown("affine-regions", "maths.affine_regions", "maths.most_regions")
def regions_of_a_small_network() -> Figure:
    """Where a ReLU network is affine."""
    widths, draw = [8, 8], torch.Generator().manual_seed(4)
    sizes = [2, *widths, 1]
    maps = [
        (torch.randn(b, a, generator=draw).double(), 0.7 * torch.randn(b, generator=draw).double())
        for a, b in pairwise(sizes)
    ]
    network = relu_layers(maps)
    regions = affine_regions(network, [-2.0, -2.0], [2.0, 2.0])
    first = len(affine_regions(relu_layers(maps[:1]).append(ReLU()), [-2.0, -2.0], [2.0, 2.0]))
    outlines: dict[str, list[Any]] = {}
    for region in regions:
        slope = region.weight[0]
        angle = int((np.arctan2(slope[1], slope[0]) / (2 * np.pi) % 1) * _HUES)
        color = f"hsl({360 * angle // _HUES}, 55%, 60%)" if np.abs(slope).max() > 1e-12 else "#bbbbbb"
        outlines.setdefault(color, []).append(np.vstack([region.vertices, region.vertices[:1], [[np.nan] * 2]]))
    traces: list[Trace] = []
    for color, polygons in outlines.items():
        x, y = np.vstack(polygons).T
        style = {"fill": "toself", "fillcolor": color, "line": {"color": INK, "width": 0.6}, "hoverinfo": "skip"}
        traces.append({"x": x, "y": y, "mode": "lines", **style})
    note = (
        f"A random network of 2 inputs and two hidden layers of 8 ReLUs has {len(regions)} regions here, on each of "
        "which it is one affine map. The colour is the direction in which the output rises; grey is level. The first "
        f"layer cuts along whole lines, into {first} parts; the lines of the second bend where they meet those. No "
        f"such network has more than {most_regions(2, widths)}."
    )
    square = {"scaleanchor": "x", "constrain": "domain"}
    layout = {
        "xaxis": axis("x₁", constrain="domain"),
        "yaxis": axis("x₂", **square),
        "showlegend": False,
        "height": 480,
    }
    return Figure(traces, note, layout)


@shown("depth-separation", "maths.tent_network", "maths.separation")
def tent_by_depth() -> Figure:
    """A tent folded by depth."""
    x, layers = np.arange(2**10 + 1) / 2**10, range(1, 8)
    traces = []
    for folds in layers:
        with torch.no_grad():
            y = tent_network(folds)(torch.from_numpy(x)[:, None])[:, 0]
        name = f"{2**folds} pieces of {2 * folds} units; one hidden layer needs {2**folds - 1}"
        hover = "x = %{x:.4f}: %{y:.3f}<extra></extra>"
        traces.append(line(name, x, y, ACCENT, hover, visible=folds == 4, showlegend=True))
    layout = {
        "xaxis": axis("x"),
        "yaxis": axis("the tent, applied so often"),
        "sliders": [slider("hidden layers ", [str(k) for k in layers], range(len(layers)), 3)],
        "margin": WITH_SLIDER,
    }
    note = (
        "Each hidden layer of two ReLUs folds the tent once more, and doubles its pieces. With one hidden layer every "
        "piece costs a unit, and a network of too few pieces stays an area of about ⅛ away. The slider adds layers."
    )
    return Figure(traces, note, layout)


@shown("universal-approximation-width", "maths.interpolate", "maths.approximate", "pwl-representation")
def sine_by_width() -> Figure:
    """A sine by one hidden layer."""
    low, high = 0.0, 2 * np.pi
    x = torch.linspace(low, high, 600, dtype=torch.float64)
    hover = "x = %{x:.3f}: %{y:.3f}<extra></extra>"
    smooth = {"line": {"color": SOFT, "width": 5, "simplify": False}}
    traces, groups, labels = [line("sin x", x, x.sin(), SOFT, hover) | smooth], [-1], []
    for group, pieces in enumerate((2, 3, 4, 6, 8, 12, 16, 24, 32)):
        near = interpolate(torch.sin, low, high, pieces)
        with torch.no_grad():
            y = near.network(x[:, None])[:, 0]
        knots = torch.linspace(low, high, pieces + 1, dtype=torch.float64)
        seen = {"visible": group == 3}
        units = near.network[0].out_features
        name = f"{units} hidden units, largest error {near.error:.2g}"
        traces += [line(name, x, y, ACCENT, hover, **seen), {**dots("kinks", knots, knots.sin(), ACCENT), **seen}]
        groups += [group, group]
        labels.append(str(units))
    layout = {
        "xaxis": axis("x"),
        "yaxis": axis("value"),
        "sliders": [slider("hidden units ", labels, groups, 3)],
        "margin": WITH_SLIDER,
    }
    note = (
        "One hidden layer of ReLU goes through points of the sine in straight lines: with twice as many pieces, the "
        "largest error is a quarter. For a function that is only continuous it is at most what the function varies "
        "over one piece. The slider adds units."
    )
    return Figure(traces, note, layout)


@shown("pwl-2d-counterexample", "maths.pyramid_network", "maths.gradient_jump")
def pyramid_and_its_edges() -> Figure:
    """A pyramid needs two hidden layers."""
    grid = torch.linspace(-2, 2, 161, dtype=torch.float64)
    heights = pyramid(torch.stack(torch.meshgrid(grid, grid, indexing="xy"), -1))
    hover = "(%{x:.2f}, %{y:.2f}): %{z:.2f}<extra></extra>"
    edge = [(-1, 0, 1, 0), (0, -1, 0, 1), (-1, 0, 0, 1), (0, 1, 1, 0), (1, 0, 0, -1), (0, -1, -1, 0)]
    traces = [heatmap(heights, [(0, CARD), (1, HEAT)], hover, x=grid, y=grid)]
    for i, (x0, y0, x1, y1) in enumerate(edge):
        away = np.array([[x0, y0], [x1, y1]], float)
        middle, reach = away.mean(0), (away[1] - away[0])
        whole = middle + np.array([[-4], [4]]) * reach
        hidden = {"showlegend": i == 0, "hoverinfo": "skip", "line": {"color": POOR, "dash": "dot", "width": 1.5}}
        traces.append(line("where one hidden layer would bend too", whole[:, 0], whole[:, 1], POOR, "") | hidden)
        drawn = {"showlegend": i == 0, "hoverinfo": "skip"}
        traces.append(line("where the pyramid bends", away[:, 0], away[:, 1], PALETTE[0], "", 3) | drawn)
    square = {"scaleanchor": "x", "range": [-2, 2], "constrain": "domain"}
    layout = {"xaxis": axis("x", range=[-2, 2], constrain="domain"), "yaxis": axis("y", **square), "height": 480}
    note = (
        "max(0, 1 - |x| - |y|) from above. A unit of one hidden layer bends along a whole line, by the same amount "
        "everywhere, but these edges end: no network with one hidden layer is this function. One with two is, exactly, "
        "with 4 and 1 units."
    )
    return Figure(traces, note, layout)
