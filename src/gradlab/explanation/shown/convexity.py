"""Pictures of convexity: Jensen's gap, and a counterexample that was looked for."""

from collections.abc import Callable

import torch
from torch import Tensor

from gradlab.explanation.picture import Figure, shown
from gradlab.maths.convexity import below_set, convexity_counterexample, jensen_gap
from gradlab.report.charts import ACCENT, INK, PALETTE, POOR, SOFT, Trace, axis, dots, line
from gradlab.report.sliders import WITH_SLIDER, slider


@shown("jensen-gap", "jensen", "jensen-latent-likelihood", "maths.jensen_gap")
def gap() -> Figure:
    """The mean of values lies above the value of the mean."""
    x = torch.linspace(-2.5, 2.5, 200, dtype=torch.float64)[:, None]

    def convex(points: Tensor) -> Tensor:
        return points[..., 0].exp()

    reaches = [0.25, 0.5, 1.0, 1.5, 2.0]
    traces: list[Trace] = [line("f(x) = exp x", x[:, 0], convex(x), ACCENT, "%{x:.2f}: %{y:.2f}<extra></extra>", 3)]
    groups = [-1]
    weights = torch.tensor([0.5, 0.5], dtype=torch.float64)
    for i, reach in enumerate(reaches):
        ends = torch.tensor([[-reach], [reach]], dtype=torch.float64)
        heights, missing = convex(ends), jensen_gap(convex, ends, weights).item()
        mean, value = (weights @ heights).item(), convex(weights @ ends).item()
        hover = "%{x:.2f}: %{y:.3f}<extra></extra>"
        drawn = [
            line("the mean of values", ends[:, 0], heights, SOFT, hover),
            line(f"Jensen's gap: {mean:.3f} - {value:.3f} = {missing:.3f}", [0, 0], [value, mean], POOR, hover, 5),
            dots("the two values of x", ends[:, 0], heights, INK, hover, size=9),
        ]
        traces += [{**trace, "visible": reach == 1.5} for trace in drawn]
        groups += [i] * len(drawn)
    return Figure(
        traces,
        "X is -a or a, each half of the time. E f(X) is the middle of the line, f(E X) the curve below it; the more X "
        "varies, the larger the gap. For a logarithm, which bends the other way, it is why the mean of log-likelihoods "
        "is below the logarithm of their mean. The slider moves a.",
        {
            "xaxis": axis("x"),
            "yaxis": axis("f(x)", range=[0, 8]),
            "sliders": [slider("a = ", [f"{r:g}" for r in reaches], groups, reaches.index(1.5))],
            "margin": WITH_SLIDER,
        },
    )


@shown("convexity-counterexample", "convex-function", "maths.convexity_counterexample")
def counterexample() -> Figure:
    """Two points and a mix of them that show that a function is not convex."""
    x = torch.linspace(-2, 2, 400, dtype=torch.float64)[:, None]

    def dented(points: Tensor) -> Tensor:
        return points[..., 0] ** 2 + 0.7 * torch.exp(-12 * (points[..., 0] - 0.4) ** 2)

    worst = convexity_counterexample(dented, x)
    assert worst is not None
    ends = torch.stack([worst.a, worst.b])
    level = worst.share * dented(worst.a) + (1 - worst.share) * dented(worst.b)
    mix, value = worst.mix.item(), dented(worst.mix).item()
    hover = "%{x:.2f}: %{y:.3f}<extra></extra>"
    return Figure(
        [
            line("f", x[:, 0], dented(x), ACCENT, hover, 3),
            line("λf(a) + (1 - λ)f(b)", ends[:, 0], dented(ends), SOFT, hover),
            line(f"above it by {worst.excess:.3f}", [mix, mix], [level.item(), value], POOR, hover, 4),
            dots("a and b", ends[:, 0], dented(ends), INK, hover, size=10),
            dots(f"λa + (1 - λ)b, λ = {worst.share:.2f}", [mix], [value], PALETTE[1], hover, size=10),
        ],
        "A parabola with a bump. Of 20,000 random pairs and mixes this is the one at which the function lies highest "
        "above the line between its ends; a convex one lies nowhere above any.",
        {"xaxis": axis("x"), "yaxis": axis("f(x)", range=[-0.2, 4])},
    )


@shown("below-sets", "maths.below_set", "convex-set")
def below_sets() -> Figure:
    """What lies below a level of a convex function is convex, and the other way round it need not be."""
    x = torch.linspace(-2, 2, 241, dtype=torch.float64)[:, None]
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "x², convex: so are all its sets": lambda p: p[..., 0] ** 2,
        "√|x|, not convex: its sets are still intervals": lambda p: p[..., 0].abs().sqrt(),
        "x⁴ - 2x² + 1: two valleys, and sets of two parts": lambda p: p[..., 0] ** 4 - 2 * p[..., 0] ** 2 + 1,
    }
    high, hover = 0.5, "%{x:.2f}: %{y:.2f}<extra></extra>"
    traces: list[Trace] = []
    for row, ((name, function), color) in enumerate(zip(functions.items(), PALETTE, strict=False)):
        inside = x[below_set(function, high)(x)][:, 0]
        traces.append(line(name, x[:, 0], function(x), color, hover, 2))
        below = dots(name, inside, torch.full_like(inside, -0.15 - 0.15 * row), color, hover, size=4, symbol="square")
        traces.append({**below, "showlegend": False})
    traces.append(line("level b", x[[0, -1], 0], [high, high], SOFT, hover, 1.5))
    return Figure(
        traces,
        "Each function with the set {x : f(x) ≤ ½} in its colour underneath. A set of one interval does not make a "
        "function convex.",
        {"xaxis": axis("x"), "yaxis": axis("f(x)", range=[-0.6, 2.4])},
    )
