"""Pictures of limits: large numbers, the central limit theorem, a sequence that converges nowhere, random walks."""

from math import pi, sqrt

import torch

from gradlab.explanation.picture import Figure, shown
from gradlab.explanation.shown.normal_variables import bell
from gradlab.maths.probability import (
    Normal,
    kolmogorov_distance,
    random_walks,
    running_mean,
    scaled_sum,
    typewriter,
)
from gradlab.maths.probability.convergence import sweep
from gradlab.report.charts import CARD, HEAT, INK, PALETTE, SOFT, axis, bars, heatmap, line, log_scale, ribbon, thinned
from gradlab.report.sliders import UNLABELLED, WITH_SLIDER, slider


@shown("clt", "maths.scaled_sum", "maths.kolmogorov_distance")
def sums_become_normal() -> Figure:
    """The central limit theorem."""
    numbers, sums = (1, 2, 4, 16, 64, 256), 20_000
    x = torch.linspace(-4, 4, 161, dtype=torch.float64)
    traces, groups, labels = [], [], []
    for i, n in enumerate(numbers):
        draws = torch.empty(sums, n, dtype=torch.float64).exponential_(generator=torch.Generator().manual_seed(n))
        total = scaled_sum(draws, mean=1.0)
        heights, edges = torch.histogram(total, bins=64, range=(-4.0, 4.0))
        middle, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
        hover = "around %{x:.2f}: %{y:.3f}<extra></extra>"
        shown_first = {"visible": i == 2, "name": f"{sums:,} sums of exponential draws"}
        traces.append(bars(middle, heights / sums / width, hover, HEAT, **shown_first))
        groups.append(i)
        labels.append(f"{n}, Kolmogorov's distance {float(kolmogorov_distance(total)):.4f}")
    normal = line("N(0, 1)", x, bell(Normal([0.0], [[1.0]]), x), PALETTE[1], "%{x:.2f}: %{y:.3f}<extra></extra>", 3)
    note = (
        "Sums of n draws less their mean, divided by √n. One draw is as lopsided as an exponential variable is; of "
        "more and more draws little is left of that. The distance of 20,000 draws of the normal law itself is about "
        f"{0.87 / sqrt(sums):.4f}."
    )
    layout = {
        "xaxis": axis("(x₁ + … + xₙ − n) / √n", range=[-4, 4]),
        "yaxis": axis("density", range=[0, 1.05]),
        "bargap": 0.05,
        "sliders": [slider("n = ", labels, [*groups, -1], 2) | UNLABELLED],
        "margin": WITH_SLIDER,
    }
    return Figure([*traces, normal], note, layout)


@shown("slln", "maths.running_mean")
def means_of_more_and_more_draws() -> Figure:
    """The law of large numbers."""
    most, paths = 20_000, 4
    draws = torch.empty(paths, most, dtype=torch.float64).exponential_(generator=torch.Generator().manual_seed(5))
    mean, error = running_mean(draws)
    at = sorted({round(10 ** (e / 40)) for e in range(12, int(40 * 4.31))} | {most})
    places = [n - 1 for n in at if 2 <= n <= most]
    n = [place + 1 for place in places]
    first, bar = mean[0, places], 2 * error[0, places]
    band = ribbon(
        "sequence 1 ± 2 of its standard errors", n, (first - bar).tolist(), (first + bar).tolist(), PALETTE[0]
    )
    hover = "after %{x} draws: %{y:.4f}<extra></extra>"
    traces = [band]
    traces += [
        line(f"sequence {i + 1}", n, mean[i, places], PALETTE[i], hover, 2.5 if i == 0 else 1.2) for i in range(paths)
    ]
    for sign in (1, -1):
        edge = line("1 ± 2σ/√n", n, [1 + sign * 2 / sqrt(m) for m in n], SOFT, hover, showlegend=sign == 1)
        traces.append(edge | {"line": {"color": SOFT, "dash": "dot", "width": 1.5}})
    note = (
        "Means of the first n of some exponential draws, whose expectation is 1. Each sequence comes near and stays "
        "near; how near at n is told by its own standard error s/√n, without knowing the expectation."
    )
    layout = {
        "xaxis": axis("draws n", **log_scale([2, most])),
        "yaxis": axis("mean of the first n", range=[0.2, 2.0]),
        "margin": {"l": 56, "r": 16, "t": 60, "b": 44},
    }
    return Figure(traces, note, layout)


@shown("typewriter-sequence", "convergence-modes", "maths.typewriter")
def a_sequence_without_a_limit() -> Figure:
    """The typewriter sequence."""
    sweeps, outcomes = 12, 27720 // 40  # a multiple of most numbers up to 12
    count = sweeps * (sweeps + 1) // 2
    omega = (torch.arange(outcomes, dtype=torch.float64) + 0.5) / outcomes
    values = torch.stack([typewriter(n, omega) for n in range(count)], 1)
    picture = heatmap(
        values, [(0, CARD), (1, HEAT)], "X_%{x} at ω = %{y:.2f}: %{z}<extra></extra>", x=list(range(count)), y=omega
    )
    marked = 0.3
    hits = [n for n in range(count) if typewriter(n, torch.tensor([marked])).item()]
    lengths = [1 / sweep(n)[0] for n in range(count)]
    hover = "X_%{x} is 1 with probability %{y:.3f}<extra></extra>"
    traces = [
        picture,
        line(f"ω = {marked}", [-0.5, count - 0.5], [marked] * 2, PALETTE[1], "<extra></extra>", 1.5),
        {
            "x": hits,
            "y": [marked] * len(hits),
            "mode": "markers",
            "marker": {"color": PALETTE[1], "size": 7},
            "name": f"hits of ω = {marked}: one in each sweep",
            "hovertemplate": "X_%{x} = 1<extra></extra>",
        },
        line("P[Xₙ ≠ 0] = 1/k", list(range(count)), lengths, INK, hover)
        | {"line": {"color": INK, "width": 2, "shape": "hvh"}},
    ]
    note = (
        "Each column is a variable, which is 1 where it is dark. They are 1 ever more rarely, so that the sequence "
        "converges to 0 in probability and in mean; but along each row, every sweep brings another 1."
    )
    layout = {"xaxis": axis("n", range=[-0.5, count - 0.5]), "yaxis": axis("ω", range=[0, 1.02])}
    return Figure(traces, note, layout | {"margin": {"l": 56, "r": 16, "t": 40, "b": 44}})


@shown("random-walk", "maths.random_walks", "maths.walk_table")
def walks_and_the_root_of_time() -> Figure:
    """Random walks."""
    steps = 1000
    walks = random_walks(steps, 2000, torch.Generator().manual_seed(3))
    n = thinned(range(steps + 1), 250)
    root = torch.tensor(n, dtype=torch.float64).sqrt()
    hover = "after %{x} steps: %{y}<extra></extra>"
    traces = [
        ribbon("± 2√n", n, (-2 * root).tolist(), (2 * root).tolist(), PALETTE[0]),
        ribbon("± √n", n, (-root).tolist(), root.tolist(), PALETTE[0]),
    ]
    for i in range(12):
        color = PALETTE[i % len(PALETTE)]
        traces.append(line(f"walk {i + 1}", n, walks[i, n], color, hover, 1.2, showlegend=False))
    within = [float((walks[:, -1].abs() <= k * sqrt(steps)).double().mean()) for k in (1, 2)]
    mean = float(walks[:, -1].abs().mean())
    note = (
        f"Twelve walks of steps ±1. Of 2,000 walks, {within[0]:.0%} end within √n and {within[1]:.0%} within 2√n, as "
        f"of a normal variable; after {steps:,} steps they are {mean:.1f} from 0 on average, and √(2n/π) is "
        f"{sqrt(2 * steps / pi):.1f}."
    )
    layout = {"xaxis": axis("steps n"), "yaxis": axis("place Yₙ"), "margin": {"l": 56, "r": 16, "t": 40, "b": 44}}
    return Figure(traces, note, layout)
