"""Pictures of attention: from soft to hard, and what its length costs."""

import torch

from gradlab.explanation.picture import Figure, shown
from gradlab.models.cost import pass_flops
from gradlab.nn.attention import HardAttention, LinearAttention, PerformerAttention, ScaledDotAttention
from gradlab.report.charts import LOGARITHMIC, PALETTE, axis, dots, level, line

_SCORES = [1.0, 0.7, 0.3, 0.0, -0.6]  # of a query with five keys
_DIM, _FEATURES = 64, 128
_LENGTHS = [2**power for power in range(5, 15)]


@shown("hard-soft-attention", "attention-special-cases", "softmax-temperature-limit", "attention.hard")
def from_soft_to_hard() -> Figure:
    """How the weights of attention go from a plain mean to a choice, as its temperature falls."""
    query, keys = torch.ones(1, 1), torch.tensor(_SCORES)[:, None]
    betas = torch.logspace(-2, 2, 161)
    weights = torch.stack([ScaledDotAttention(scale=float(beta)).weights(query, keys)[0] for beta in betas])
    chosen = HardAttention().weights(query, keys)[0]
    hover = "β = %{x:.3~g}: %{y:.3f}<extra></extra>"
    soft = [
        line(f"key with score {score:g}", betas, weights[:, i], PALETTE[i], hover, 2.5)
        for i, score in enumerate(_SCORES)
    ]
    hard = dots("hard attention", [130.0] * len(chosen), chosen, "var(--ink)", "hard: %{y:g}<extra></extra>", size=9)
    shares = {**axis("weight"), "range": [-0.03, 1.05]}
    return Figure(
        [*soft, hard],
        "A query looks at five keys; β is the inverse of the temperature. On the left all keys count alike, and "
        "attention is average pooling (dotted: 1/5). On the right all weight is on the key that fits best, and "
        "attention looks a value up. In between the weights are positive and sum to 1.",
        {
            "xaxis": {**axis("inverse temperature β"), **LOGARITHMIC, "range": [-2, 2.2], "dtick": 1},
            "yaxis": shares,
            "shapes": [level(1 / len(_SCORES))],
        },
    )


@shown("quadratic-cost", "feature-map-factorisation", "attention.linear", "attention.scaled_dot")
def cost_of_length() -> Figure:
    """What attention costs by the length of the sequence: quadratic beside linear, in operations that were counted."""
    kinds = {
        "softmax attention": ScaledDotAttention(),
        "linear attention": LinearAttention(),
        f"performer, {_FEATURES} features": PerformerAttention(_DIM, _FEATURES),
    }
    hover = "%{x:,} tokens: %{y:.3s} operations<extra></extra>"
    traces = []
    for color, (name, block) in zip(PALETTE, kinds.items(), strict=False):
        block = block.to("meta")
        counts = [_flops(block, n) for n in _LENGTHS]
        traces.append(line(name, _LENGTHS, counts, color, hover, 2.5, mode="lines+markers"))
    quadratic, *_, performer = (trace["y"][-1] for trace in traces)
    meeting = _LENGTHS[-1] * performer / quadratic  # where the one, by n, is the other, by n²
    return Figure(
        traces,
        f"Queries, keys and values of {_DIM} numbers. Softmax attention compares every token with every other: twice "
        "the length costs four times as much. With a feature map the sums over keys are taken once for all queries, "
        f"and twice the length costs twice as much. The performer, with {_FEATURES} random features, is cheaper from "
        f"about {meeting:.0f} tokens on.",
        {
            "xaxis": {**axis("tokens"), **LOGARITHMIC, "tickvals": _LENGTHS, "ticktext": [f"{n:,}" for n in _LENGTHS]},
            "yaxis": {**axis("floating-point operations"), **LOGARITHMIC, "exponentformat": "SI", "dtick": 1},
        },
    )


def _flops(block: torch.nn.Module, n: int) -> int:
    """Counted, on a device that computes nothing."""
    x = torch.zeros(1, n, _DIM, device="meta")
    return pass_flops(block, lambda: block(x, x, x))
