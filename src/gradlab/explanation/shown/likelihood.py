"""Pictures of likelihoods: Newton's way to Gumbel's parameters, generalised linear models, and circles by squares."""

from typing import Any

import torch
from torch import Tensor

from gradlab.data import sources
from gradlab.explanation.picture import Figure, shown
from gradlab.maths.glm import FamilyName, fit_glm
from gradlab.maths.probability import fit_gumbel, gumbel_nll
from gradlab.maths.probability.gumbel import Gumbel, gumbel_path
from gradlab.nn import PolynomialFeatures
from gradlab.report.charts import CARD, HEAT, INK, LINE, PALETTE, axis, dots, line
from gradlab.report.sliders import UNLABELLED, WITH_SLIDER, slider


@shown("gumbel-mle", "maths.fit_gumbel", "maths.gumbel_nll")
def the_likelihood_of_gumbels_parameters() -> Figure:
    """The likelihood of Gumbel's parameters."""
    uniform = torch.rand(40, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    x = 1.0 - 0.8 * (-uniform.log()).log()
    location, scale = torch.linspace(-0.2, 2.2, 81).double(), torch.linspace(0.35, 1.8, 81).double()
    nll = gumbel_nll(x, location[None, :, None], scale[:, None, None]).mean(-1)
    best, start = fit_gumbel(x), torch.tensor([0.1, 1.6], dtype=torch.float64)
    path = torch.stack(
        [torch.stack([x.mean() + x.std() * b / a, x.std() / a]) for a, b in gumbel_path(x, Gumbel(*start)).points]
    )
    contours = {"start": float(nll.min()), "end": float(nll.min()) + 1, "size": 0.05, "showlines": True}
    surface: dict[str, Any] = {
        "type": "contour",
        "x": location,
        "y": scale,
        "z": nll.clamp(max=float(nll.min()) + 1),
        "colorscale": [(0, HEAT), (1, CARD)],
        "contours": contours,
        "line": {"color": LINE, "width": 1},
        "showscale": False,
        "name": "−log p, per value",
        "hovertemplate": "μ %{x:.2f}, β %{y:.2f}: %{z:.3f}<extra></extra>",
    }
    way = line("Newton's way, from (0.1, 1.6)", path[:, 0], path[:, 1], INK, "(%{x:.4f}, %{y:.4f})<extra></extra>", 2)
    traces = [
        surface,
        way | {"mode": "lines+markers"},
        dots("the optimum", [float(best.location)], [float(best.scale)], PALETTE[1], size=11),
        dots("what the values were drawn from", [1.0], [0.8], PALETTE[2], size=11, symbol="x"),
    ]
    note = (
        f"Of 40 values drawn with μ = 1 and β = 0.8: the mean negative log-likelihood over both parameters. Its one "
        f"minimum is at μ = {float(best.location):.3f}, β = {float(best.scale):.3f}, where the contours close."
    )
    layout = {
        "xaxis": axis("location μ"),
        "yaxis": axis("scale β"),
        "margin": {"l": 56, "r": 16, "t": 50, "b": 44},
    }
    return Figure(traces, note, layout)


def _example(family: FamilyName) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Inputs, targets, and the curves that the fitted model has for them."""
    draw = torch.Generator().manual_seed(7)
    x = 6 * torch.rand(120, generator=draw, dtype=torch.float64) - 3
    uniform = torch.rand(120, generator=draw, dtype=torch.float64)
    noise = torch.randn(120, generator=draw, dtype=torch.float64)
    y = {
        "gaussian": lambda: 0.8 * x + 1 + noise,
        "bernoulli": lambda: (uniform < (1.5 * x - 0.5).sigmoid()).double(),
        "poisson": lambda: torch.poisson((0.7 * x + 0.3).exp(), generator=draw),
        "categorical": lambda: (uniform > (1.8 * x + 2.5).sigmoid()).double() + (uniform > (1.8 * x - 2).sigmoid()),
    }[family]()
    if family == "categorical":
        y = 2 - y
    grid = torch.linspace(-3, 3, 121, dtype=torch.float64)[:, None]
    mean = fit_glm(x[:, None], y, family).mean(grid)
    if family == "categorical":
        every = torch.cat([1 - mean.sum(1, keepdim=True), mean], 1)
        return x, y / 2, {f"P[y = {c} | x]": every[:, c] for c in range(3)}
    return x, y, {"E[y | x], by Newton's method": mean[:, 0]}


@shown("glm", "maths.fit_glm")
def four_families_of_linear_models() -> Figure:
    """Generalised linear models."""
    families: dict[FamilyName, str] = {
        "gaussian": "gaussian, E[y | x] = wx + b",
        "bernoulli": "bernoulli, E[y | x] = σ(wx + b)",
        "poisson": "poisson, E[y | x] = exp(wx + b)",
        "categorical": "categorical, P[y | x] = softmax of three lines; classes at 0, ½ and 1",
    }
    grid = torch.linspace(-3, 3, 121, dtype=torch.float64)
    traces, groups = [], []
    for i, family in enumerate(families):
        x, y, curves = _example(family)
        here = {"visible": i == 1}
        points = dots("120 examples", x, y, PALETTE[6], "(%{x:.2f}, %{y:.2f})<extra></extra>", size=7, opacity=0.6)
        traces.append(points | here)
        for color, (name, values) in zip(PALETTE, curves.items(), strict=False):
            traces.append(line(name, grid, values, color, "x %{x:.2f}: %{y:.3f}<extra></extra>", 3, **here))
        groups += [i] * (1 + len(curves))
    note = (
        "One linear function of x, and what the family makes of it. Each fit has the greatest likelihood: its "
        "residuals are orthogonal to x and sum to 0, in all four families."
    )
    names = slider("", list(families.values()), groups, 1) | UNLABELLED
    layout = {"xaxis": axis("x"), "yaxis": axis("y"), "sliders": [names], "margin": WITH_SLIDER}
    return Figure(traces, note, layout)


@shown("nonlinear-feature-logistic")
def circles_by_their_squares() -> Figure:
    """Two rings by logistic regression."""
    raw = sources["circles"](0, examples=400, noise=0.2)
    x, y = torch.as_tensor(raw.inputs, dtype=torch.float64), torch.as_tensor(raw.targets, dtype=torch.float64)
    axis_points = torch.linspace(-1.7, 1.7, 121, dtype=torch.float64)
    plane = torch.stack(torch.meshgrid(axis_points, axis_points, indexing="xy"), -1).reshape(-1, 2)
    traces, labels = [], []
    for degree in (1, 2):
        features = PolynomialFeatures(degree)
        model = fit_glm(features(x), y, "bernoulli")
        p = model.mean(features(plane)).reshape(121, 121)
        right = float(((model.mean(features(x))[:, 0] > 0.5) == (y > 0.5)).double().mean())
        labels.append(f"{degree}: {right:.0%} of the points on the right side")
        traces.append({
            "type": "contour",
            "x": axis_points,
            "y": axis_points,
            "z": p,
            "zmin": 0,
            "zmax": 1,
            "colorscale": [(0, PALETTE[0]), (0.5, CARD), (1, PALETTE[1])],
            "contours": {"start": 0.1, "end": 0.9, "size": 0.2},
            "line": {"color": LINE, "width": 1},
            "opacity": 0.55,
            "showscale": False,
            "visible": degree == 2,
            "hovertemplate": "P[inner] = %{z:.2f}<extra></extra>",
        })  # fmt: skip
    for value, name in ((0, "outer"), (1, "inner")):
        at = x[y == value]
        traces.append(dots(name, at[:, 0], at[:, 1], PALETTE[value], "(%{x:.2f}, %{y:.2f})<extra></extra>", size=5))
    note = (
        "Logistic regression on x₁, x₂ finds nothing; with x₁² and x₂² among the inputs it is as linear as before, and "
        "its border is a circle in the plane. Colours are the probability of the inner ring."
    )
    span = [-1.7, 1.7]
    degrees = slider("degree ", labels, [0, 1, -1, -1], 1) | UNLABELLED
    layout = {
        "xaxis": axis("x₁", range=span, constrain="domain"),
        "yaxis": axis("x₂", range=span, scaleanchor="x", constrain="domain"),
        "sliders": [degrees],
        "margin": WITH_SLIDER,
    }
    return Figure(traces, note, layout)
