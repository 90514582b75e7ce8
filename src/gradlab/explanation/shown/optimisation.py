"""Pictures of minimisers at work."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab.explanation.picture import Figure, shown
from gradlab.maths.optimisation import minimise
from gradlab.maths.optimisation.descent import gradient_descent, heavy_ball, rate_bound, spectral_radius
from gradlab.maths.optimisation.newton import newton
from gradlab.report.charts import (
    CARD,
    GOOD,
    HEAT,
    INK,
    LOGARITHMIC,
    PALETTE,
    POOR,
    SOFT,
    axis,
    dots,
    level,
    line,
    log_scale,
)

_STEPS = 1000


def _convex_functions() -> list[tuple[str, Callable[[Tensor], Tensor], Tensor, float]]:
    """Name, function, minimiser, and Lipschitz constant of the gradient."""
    curvatures = torch.logspace(-4, 0, 40, dtype=torch.float64)
    draw = torch.Generator().manual_seed(0)
    inputs = torch.randn(40, 2, generator=draw, dtype=torch.float64)
    labels = (inputs[:, 0] + 0.5 * torch.randn(40, generator=draw, dtype=torch.float64) > 0).double()

    def logistic(x: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(inputs @ x, labels)

    zero = torch.zeros(40, dtype=torch.float64)
    largest = float(torch.linalg.eigvalsh(inputs.T @ inputs / 40)[-1]) / 4
    best = newton(logistic, [0.0, 0.0]).lowest
    huber = torch.zeros(1, dtype=torch.float64)
    return [
        ("quadratic of 40 curvatures", lambda x: 0.5 * (curvatures * x.square()).sum(), zero, 1.0),
        ("logistic regression", logistic, best, largest),
        ("Huber's loss", lambda x: F.huber_loss(x, huber, reduction="sum", delta=0.01), huber, 1.0),
    ]


@shown("gd-rate-convex", "maths.gradient_descent")
def descent_and_its_bound() -> Figure:
    """Gradient descent below its bound."""
    t = np.unique(np.geomspace(1, _STEPS, 120).astype(int))
    traces = []
    for color, (name, f, best, constant) in zip(PALETTE, _convex_functions(), strict=False):
        x0, rate = best + 3, 1 / constant
        path = gradient_descent(f, x0, rate, _STEPS)
        unit = rate_bound(x0, best, rate, 1)
        above = ((path.values - f(best)) / unit)[t].clamp(min=1e-9)
        traces.append(line(name, t, above, color, "after %{x} steps: %{y:.2g}<extra></extra>"))
    bound = {"line": {"color": INK, "dash": "dash", "width": 2}}
    traces.append(line("the bound, 1/t", t, 1 / t, INK, "after %{x} steps: at most %{y:.2g}<extra></extra>") | bound)
    layout = {
        "xaxis": axis("steps t", **log_scale([1, _STEPS])),
        "yaxis": axis(
            "f(θₜ) − min f, in units of ‖θ₀ − θ*‖² / 2η",
            **LOGARITHMIC,
            dtick=1,
            exponentformat="power",
            range=[-6, 0.2],
        ),
    }
    note = (
        "Gradient descent with η = 1/L on three convex functions. None is above the bound at any step. Huber's loss, "
        "which is nearly straight far from its minimum, comes to half of it; where the curvature has a floor, the last "
        "stretch is faster than any power of t."
    )
    return Figure(traces, note, layout)


@shown("step-size-threshold")
def step_sizes() -> Figure:
    """Step sizes around 2/L."""
    traces, steps = [], 30
    sizes = (0.2, 1.9, 2.0, 2.03)
    for color, size in zip((PALETTE[0], PALETTE[2], SOFT, PALETTE[1]), sizes, strict=True):
        path = gradient_descent(lambda x: x.square().sum() / 2, [1.0], size, steps)
        traces.append(line(f"η = {size:g}/L", np.arange(steps + 1), path.points[:, 0], color, "step %{x}: %{y:.3g}"))
    layout = {"xaxis": axis("steps t"), "yaxis": axis("θₜ"), "shapes": [level(0.0)]}
    note = (
        "On a parabola of curvature L each step multiplies θ by 1 − ηL. Below 1/L it falls without a change of sign, "
        "below 2/L it swings to rest, at 2/L it swings for ever, and beyond it leaves: the step size breaks at 2/L, "
        "however small the loss was."
    )
    return Figure(traces, note, layout)


@shown("momentum-stability", "maths.heavy_ball", "maths.spectral_radius")
def momentum_stability() -> Figure:
    """Where momentum is stable."""
    curvature = torch.linspace(0.02, 4.5, 113, dtype=torch.float64)
    momentum = torch.linspace(0, 1, 101, dtype=torch.float64)
    radius = spectral_radius(*torch.meshgrid(curvature, momentum, indexing="xy"))
    colors = [(0, CARD), (0.66, HEAT), (0.6601, "#f3d9d5"), (1, POOR)]
    scale = {"colorbar": {"title": {"text": "ρ"}, "tickfont": {"color": INK}}, "zmin": 0, "zmax": 1.515}
    surface: dict[str, Any] = {"type": "heatmap", "x": curvature, "y": momentum, "z": radius, "colorscale": colors}
    surface |= {"hovertemplate": "ηλ = %{x:.2f}, m = %{y:.2f}: ρ = %{z:.3f}<extra></extra>", **scale}
    arrived: list[list[float]] = []
    left: list[list[float]] = []
    chosen = torch.arange(0.25, 4.5, 0.5, dtype=torch.float64)
    for m in np.arange(0.05, 1, 0.15).tolist():  # with as many parameters as curvatures, each of which is a run
        path = heavy_ball(lambda x: (chosen * x.square()).sum() / 2, torch.ones_like(chosen), 1.0, m, 200)
        for a, last in zip(chosen.tolist(), path.points[-1], strict=True):
            (arrived if last.abs() < 0.1 else left).append([a, m])
    hover = "ηλ = %{x:.2f}, m = %{y:.2f}<extra></extra>"
    outline = {"color": CARD, "width": 1}
    runs = [
        dots(
            f"runs that {name}",
            [a for a, _ in places],
            [m for _, m in places],
            color,
            hover,
            size=8,
            symbol=symbol,
            line=outline,
        )
        for name, places, color, symbol in (("arrive", arrived, GOOD, "circle"), ("leave", left, POOR, "x"))
    ]
    edge = line("ηλ = 2 (1 + m)", 2 * (1 + momentum), momentum, INK, "", 2)
    best = line("fastest m: (1 − √ηλ)²", curvature, (1 - curvature.sqrt()).square(), SOFT, "", 2)
    best["line"] = {"color": "#ccbb44", "dash": "dot", "width": 3}
    layout = {
        "xaxis": axis("step size times curvature, ηλ", range=[0.02, 4.5]),
        "yaxis": axis("momentum m", range=[0, 1]),
    }
    note = (
        "ρ is the factor by which heavy-ball steps on a parabola change the distance in the long run, the largest "
        "eigenvalue of their companion matrix. Without momentum the step size must be below 2/λ, with it below "
        "2(1 + m)/λ. Each mark is a run of 200 steps."
    )
    return Figure([surface, edge, best, *runs], note, layout)


@shown("minimisers-on-rosenbrock", "maths.minimise", "maths.newton", "maths.bfgs", "maths.bfgs_update")
def minimisers_on_rosenbrock() -> Figure:
    """Minimisers in a curved valley."""

    def rosenbrock(x: Tensor) -> Tensor:
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    x, y = np.linspace(-1.8, 1.8, 181), np.linspace(-0.8, 2.4, 161)
    a, b = np.meshgrid(x, y)
    values = np.log10(1e-3 + (1 - a) ** 2 + 100 * (b - a**2) ** 2)
    surface: dict[str, Any] = {"type": "contour", "x": x, "y": y, "z": values, "colorscale": [(0, HEAT), (1, CARD)]}
    surface |= {
        "showscale": False,
        "hoverinfo": "skip",
        "contours": {"size": 0.5},
        "line": {"width": 0.6},
        "opacity": 0.7,
    }
    start = [-1.4, 0.4]
    traces = [surface]
    runs: list[tuple[str, Any, dict[str, Any]]] = [
        ("gradient descent", "gradient", {"rate": 1.2e-3, "steps": 2000}),
        ("momentum 0.9", "momentum", {"rate": 4e-4, "steps": 300}),
        ("Newton", "newton", {}),
        ("L-BFGS", "lbfgs", {}),
        ("BFGS", "bfgs", {}),
    ]
    for color, (name, method, options) in zip(PALETTE[1:], runs, strict=False):
        path = minimise(rosenbrock, start, method, **options)
        steps, last = len(path.points) - 1, float(path.values[-1])
        marks = {"mode": "lines+markers" if steps < 100 else "lines", "marker": {"size": 5, "color": color}}
        name = f"{name}: {steps} steps to {last:.1g}"
        hover = "step %{pointNumber}: (%{x:.3f}, %{y:.3f})<extra></extra>"
        traces.append(line(name, path.points[:, 0], path.points[:, 1], color, hover) | marks)
    traces.append(dots("minimum", [1.0], [1.0], INK, size=11, symbol="star"))
    layout = {
        "xaxis": axis("θ₁", range=[-1.8, 1.8]),
        "yaxis": axis("θ₂", range=[-0.8, 2.4]),
        "margin": {"l": 56, "r": 16, "t": 64, "b": 44},
    }
    note = (
        "Rosenbrock's valley, (1 − θ₁)² + 100 (θ₂ − θ₁²)², in contours of the logarithm. The gradient points across "
        "the valley, and gradient descent creeps along its floor; methods that know or learn the "
        "curvature follow the bend."
    )
    return Figure(traces, note, layout)
