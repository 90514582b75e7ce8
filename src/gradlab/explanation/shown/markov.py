"""Pictures of Markov chains: the law of the state on its way to the stationary law, and a chain that is hidden."""

from typing import Any

import torch

from gradlab.explanation.picture import Figure, shown
from gradlab.maths.markov import MarkovChain
from gradlab.nn.divergences import total_variation
from gradlab.report.charts import INK, PALETTE, SOFT, axis, line, log_scale

_WEATHER = [[0.8, 0.15, 0.05], [0.3, 0.45, 0.25], [0.2, 0.4, 0.4]]
_NAMES = ("sun", "clouds", "rain")


@shown("markov-chain", "maths.markov.law", "maths.markov.stationary_laws")
def on_the_way_to_the_stationary_law() -> Figure:
    """A Markov chain on its way to its stationary law."""
    steps = range(13)
    stationary = MarkovChain(_WEATHER, 0).stationary()
    traces: list[dict[str, Any]] = []
    for start, dash in ((0, "solid"), (2, "dash")):
        laws = torch.stack([MarkovChain(_WEATHER, start).law(n) for n in steps])
        for state, name in enumerate(_NAMES):
            hover = f"{name} after %{{x}} days: %{{y:.4f}}<extra></extra>"
            curve = line(f"{name}, after {_NAMES[start]}", list(steps), laws[:, state], PALETTE[state], hover, 2.5)
            traces.append(
                curve | {"line": {"color": PALETTE[state], "width": 2.5, "dash": dash}, "mode": "lines+markers"}
            )
    for state in range(3):
        level = line(
            "stationary law", [0, 12], [float(stationary[state])] * 2, SOFT, "π = %{y:.4f}<extra></extra>", 1.5
        )
        traces.append(level | {"line": {"color": SOFT, "dash": "dot", "width": 1.5}, "showlegend": state == 0})
    eigenvalues = torch.linalg.eigvals(torch.tensor(_WEATHER, dtype=torch.float64)).abs().sort(descending=True).values
    apart = [float(total_variation(MarkovChain(_WEATHER, 0).law(n), stationary)) for n in (0, 12)]
    note = (
        f"The law of the weather after a sunny day (solid) and after a rainy one (dashed). Both end in the same law, "
        f"which a step does not change; what is left of the start shrinks by the second eigenvalue, "
        f"{float(eigenvalues[1]):.2f}, a day: from a total variation of {apart[0]:.2f} to {apart[1]:.4f} in 12 days."
    )
    layout = {
        "xaxis": axis("days n"),
        "yaxis": axis("P[Xₙ = state]", range=[0, 1.02]),
        "margin": {"l": 56, "r": 16, "t": 60, "b": 44},
    }
    return Figure(traces, note, layout)


@shown("markov-mixing", "maths.markov.law_after")
def how_fast_chains_forget() -> Figure:
    """How fast chains forget where they began."""
    steps, states = range(0, 61, 2), 12
    around = torch.roll(torch.eye(states), 1, 1).double()
    lazy = {
        "walk on a circle of 12": 0.5 * torch.eye(states).double() + 0.25 * (around + around.mT),
        "the same with jumps, 1 in 10": 0.9 * (0.5 * torch.eye(states).double() + 0.25 * (around + around.mT))
        + 0.1 / states,
        "all states at once": torch.full((states, states), 1 / states, dtype=torch.float64) * 0.5
        + 0.5 * torch.eye(states).double(),
    }
    traces = []
    for (name, matrix), color in zip(lazy.items(), PALETTE, strict=False):
        chain = MarkovChain(matrix, 0)
        left = [max(float(total_variation(chain.law(n), chain.stationary())), 1e-9) for n in steps]
        second = float(torch.linalg.eigvalsh(matrix)[-2])
        hover = "after %{x} steps: %{y:.2g}<extra></extra>"
        traces.append(line(f"{name}: λ₂ = {second:.3f}", list(steps), left, color, hover, 2.5))
        slope = line("λ₂ⁿ", list(steps), [second**n for n in steps], INK, hover, 1, showlegend=color == PALETTE[0])
        traces.append(slope | {"line": {"color": SOFT, "dash": "dot", "width": 1.2}})
    note = (
        "How far the law of the state is from the stationary one, for three chains that start in one state. Each falls "
        "like a power of its second eigenvalue: the fewer ways there are, the longer a chain remembers where it began."
    )
    layout = {
        "xaxis": axis("steps n"),
        "yaxis": axis("total variation from the stationary law", range=[-8, 0.2], **log_scale([1e-8, 1])),
        "margin": {"l": 56, "r": 16, "t": 60, "b": 44},
    }
    return Figure(traces, note, layout)
