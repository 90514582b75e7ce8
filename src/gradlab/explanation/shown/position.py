"""What positions do to inner products."""

import torch

from gradlab.explanation.picture import Figure, shown
from gradlab.nn.position import RotaryPosition, SinusoidalPosition
from gradlab.report.charts import PALETTE, axis, dots, line

_DIM, _FARTHEST = 64, 128
_PLACES = (0, 50, 1000)


@shown(
    "inner-products-by-distance", "sincos-rotation-law", "rope-relative-law", "position.sinusoidal", "position.rotary"
)
def inner_products() -> Figure:
    """Inner products of sinusoidal codes, and of rotated queries and keys, which depend on the distance alone."""
    code, turn, away = SinusoidalPosition(_DIM), RotaryPosition(_DIM), torch.arange(_FARTHEST)
    generator = torch.Generator().manual_seed(1)
    query = torch.randn(_DIM, dtype=torch.float64, generator=generator)
    key = query + 0.7 * torch.randn(_DIM, dtype=torch.float64, generator=generator)
    length = float(query.norm() * key.norm())
    zeros, keys = torch.zeros(_FARTHEST, _DIM, dtype=torch.float64), key.expand(_FARTHEST, -1)
    traces = []
    for i, (place, symbol) in enumerate(zip(_PLACES, ("", "circle-open", "x-thin-open"), strict=True)):
        codes = code(zeros, place)
        kinds = {
            "sinusoidal ⟨pe(p), pe(p + s)⟩": codes @ codes[0] / (_DIM / 2),
            "rotary ⟨R(p) q, R(p + s) k⟩": turn(keys, place) @ turn(query[None], place)[0] / length,
        }
        for color, (name, products) in zip(PALETTE, kinds.items(), strict=False):
            hover = f"p = {place}, s = %{{x}}: %{{y:.4f}}<extra></extra>"
            label = f"{name}, p = {place}"
            every = slice(4 * i, None, 8)  # of the others, some: they lie on the first
            if not symbol:
                traces.append(line(label, away, products, color, hover, 2))
            else:
                traces.append(dots(label, away[every], products[every], color, hover, size=10, symbol=symbol))
    return Figure(
        traces,
        f"Codes of {_DIM} numbers, relative to the product of the lengths. Wherever the first of the two stands "
        "(lines: at 0; marks: at 50 and at 1,000), the inner product is the same for the same distance s: a step is a "
        "rotation, whatever the position.",
        {
            "xaxis": axis("distance s"),
            "yaxis": axis("inner product, relative"),
            "margin": {"t": 60, "l": 56, "r": 16, "b": 44},
        },
    )
