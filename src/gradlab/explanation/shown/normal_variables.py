"""Pictures of normal variables: a pair of which one is known, sums of independent ones, and a pair without density."""

from typing import Any

import torch
from torch import Tensor

from gradlab.explanation.picture import Figure, shown
from gradlab.maths.probability import Normal
from gradlab.report.charts import ACCENT, CARD, HEAT, INK, LINE, PALETTE, SOFT, axis, dots, line
from gradlab.report.sliders import UNLABELLED, WITH_SLIDER, slider


def bell(normal: Normal, x: Tensor) -> Tensor:
    return normal.density(x[:, None])


@shown("gauss-conditioning", "maths.normal.condition")
def a_normal_pair_on_a_line() -> Figure:
    """A normal pair, one of which is known."""
    pair = Normal([0.0, 0.0], [[1.0, 0.9], [0.9, 1.5]])
    x = torch.linspace(-3.5, 3.5, 121, dtype=torch.float64)
    grid = torch.stack(torch.meshgrid(x, x, indexing="xy"), -1)
    colors = [(0, CARD), (1, HEAT)]
    hover = "x %{x:.2f}, y %{y:.2f}: %{z:.3f}<extra></extra>"
    contour = {"type": "contour", "x": x, "y": x, "z": pair.density(grid), "colorscale": colors, "showscale": False}
    traces: list[dict[str, Any]] = [{**contour, "hovertemplate": hover, "name": "p(x, y)", "line": {"color": LINE}}]
    places, groups = [-2.0, -1.0, 0.0, 1.0, 2.0], [-1]
    for i, y in enumerate(places):
        known = pair.condition([1], [y])
        mean, std = float(known.mean), float(known.covariance) ** 0.5
        shape = y + 1.6 * bell(known, x)
        here = {"visible": i == 3}
        traces += [
            line("the line y is known to be on", [-3.5, 3.5], [y, y], INK, "y = %{y}<extra></extra>", 1.5, **here),
            line("p(x | y), drawn upon it", x, shape, PALETTE[1], "x = %{x:.2f}<extra></extra>", 3, **here),
            dots("its mean, and one std each way", [mean - std, mean, mean + std], [y] * 3, PALETTE[1], size=9) | here,
        ]
        groups += [i] * 3
    along = pair.covariance[0, 1] / pair.covariance[1, 1] * x
    means = line("means of x for each y", along, x, SOFT, "E[x | y] = %{x:.2f}<extra></extra>", 1.5)
    traces.append(means | {"line": {"color": SOFT, "dash": "dot"}})
    groups.append(-1)
    left = float(pair.condition([1], [0.0]).covariance)
    note = (
        f"Once y is known, x is normal too: its mean moves along a line, and its variance is {left:.2f} instead of "
        f"{float(pair.covariance[0, 0]):.0f}, wherever y is. That curve is the slice of p(x, y), scaled to the area 1."
    )
    layout = {
        "xaxis": axis("x", range=[-3.5, 3.5], constrain="domain"),
        "yaxis": axis("y", range=[-3.5, 3.5], scaleanchor="x", constrain="domain"),
        "sliders": [slider("y = ", [f"{y:g}" for y in places], groups, 3)],
        "margin": WITH_SLIDER,
    }
    return Figure(traces, note, layout)


@shown("gauss-sum", "maths.normal.add_independent")
def sums_of_normal_variables() -> Figure:
    """The sum of two independent normal variables."""
    first, second = Normal([-1.0], [[0.36]]), Normal([2.0], [[1.44]])
    both = first.add_independent(second)
    wrong = Normal(both.mean, [[(0.6 + 1.2) ** 2]])
    x = torch.linspace(-5, 7, 301, dtype=torch.float64)
    draws = [n.sample(20_000, generator=torch.Generator().manual_seed(i))[:, 0] for i, n in enumerate((first, second))]
    heights, edges = torch.histogram(sum(draws, torch.zeros(())), bins=48, range=(-5, 7), density=True)
    bars = {"type": "bar", "x": (edges[1:] + edges[:-1]) / 2, "y": heights, "name": "20,000 sums x + y"}
    hover = "%{x:.2f}: %{y:.3f}<extra></extra>"
    curves = [("X ~ N(−1, 0.6²)", first), ("Y ~ N(2, 1.2²)", second), ("X + Y ~ N(1, 0.6² + 1.2²)", both)]
    traces = [{**bars, "marker": {"color": HEAT, "opacity": 0.5}, "hovertemplate": hover}]
    colors = (PALETTE[0], PALETTE[2], PALETTE[1])
    traces += [line(name, x, bell(n, x), c, hover, 3) for (name, n), c in zip(curves, colors, strict=True)]
    dotted = line("if standard deviations added up: 1.8²", x, bell(wrong, x), SOFT, hover)
    traces.append(dotted | {"line": {"color": SOFT, "dash": "dot", "width": 2}})
    std = float(both.covariance) ** 0.5
    note = (
        "Means add up, and so do the variances of independent variables: the standard deviation of the sum is "
        f"√(0.6² + 1.2²) = {std:.2f}, less than 0.6 + 1.2."
    )
    layout = {
        "xaxis": axis("value"),
        "yaxis": axis("density"),
        "bargap": 0,
        "margin": {"t": 60, "l": 56, "r": 16, "b": 44},
    }
    return Figure(traces, note, layout)


@shown("no-joint-density", "gauss-singular")
def towards_a_singular_pair() -> Figure:
    """A pair that loses its density."""
    correlations = (0.0, 0.8, 0.95, 0.99, 0.999, 1.0)
    noise = torch.randn(1500, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    traces, labels = [], []
    for i, r in enumerate(correlations):
        root = torch.tensor([[1.0, 0.0], [r, (1 - r * r) ** 0.5]], dtype=torch.float64)
        pair = Normal([0.0, 0.0], root=root)
        x = noise @ root.mT
        traces.append(
            dots(
                "draws of (X, Y)", x[:, 0], x[:, 1], ACCENT, "(%{x:.2f}, %{y:.2f})<extra></extra>", size=4, opacity=0.6
            )
            | {"visible": i == 3}
        )
        highest = f"{float(pair.density(torch.zeros(2).double())):.3g}" if r < 1 else "∞: there is no density"
        labels.append(f"{r:g}, highest density {highest}")
    note = (
        "X and Y are standard normal in every picture. The nearer their correlation is to 1, the thinner the set "
        "that holds their mass, and the higher their density on it. With Y = X all mass is on a line: there is none."
    )
    span = [-3.6, 3.6]
    layout = {
        "xaxis": axis("X", range=span, constrain="domain"),
        "yaxis": axis("Y", range=span, scaleanchor="x", constrain="domain"),
        "sliders": [slider("correlation ", labels, range(len(correlations)), 3) | UNLABELLED],
        "margin": WITH_SLIDER,
        "showlegend": False,
    }
    return Figure(traces, note, layout)
