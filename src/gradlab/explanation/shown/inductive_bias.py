"""A picture of what an architecture takes for granted: neighbours of a pixel mean something to a convolution alone."""

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.data.bundled import digits
from gradlab.explanation.picture import Figure, shown
from gradlab.nn import AvgPool2d, Conv2d, Linear, ReLU
from gradlab.report.charts import PALETTE, axis, line, log_scale

_SIZES = (100, 200, 400)
_TESTED, _STEPS, _FIELD = 300, 60, 12


def _models() -> dict[str, nn.Module]:
    """Of about as many weights: some 5,000."""
    dense = nn.Sequential(nn.Flatten(), Linear(_FIELD**2, 32), ReLU(), Linear(32, 10))
    layers = [Conv2d(1, 16, 3, padding=1), ReLU(), AvgPool2d(2), Conv2d(16, 24, 3, padding=1), ReLU(), AvgPool2d(3)]
    convolution = nn.Sequential(*layers, nn.Flatten(), Linear(96, 10))
    return {"dense layers": dense, "convolutions": convolution}


def _error(model: nn.Module, x: Tensor, y: Tensor, size: int) -> float:
    """The share of held-out digits that are mistaken after a short training on the first `size` of the others."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train = slice(_TESTED, _TESTED + size)
    for _ in range(_STEPS):
        optimizer.zero_grad()
        F.cross_entropy(model(x[train]), y[train]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        return float((model(x[:_TESTED]).argmax(1) != y[:_TESTED]).float().mean())


def _field(picture: Tensor, draw: torch.Generator) -> Tensor:
    """A digit somewhere in an empty field."""
    room = _FIELD - picture.shape[-1]
    left, top = torch.randint(0, room + 1, (2,), generator=draw).tolist()
    return F.pad(picture, (left, room - left, top, room - top))


@cache
def mistakes() -> dict[str, list[float]]:
    """By model and by what is done to the pixels, for each number of training examples."""
    raw, draw = digits(0), torch.Generator().manual_seed(0)
    rows = torch.randperm(len(raw.inputs), generator=draw)[: _TESTED + max(_SIZES)]
    x = torch.stack([_field(torch.from_numpy(raw.inputs[row]) / 16, draw) for row in rows.tolist()])
    y, places = torch.from_numpy(raw.targets)[rows], torch.randperm(_FIELD**2, generator=draw)
    seen = {"pixels in order": x, "pixels permuted": x.flatten(1)[:, places].reshape(x.shape)}
    errors: dict[str, list[float]] = {}
    with torch.random.fork_rng(devices=()):
        for order, pictures in seen.items():
            for size in _SIZES:
                torch.manual_seed(0)
                for name, model in _models().items():
                    errors.setdefault(f"{name}, {order}", []).append(_error(model, pictures, y, size))
    return errors


@shown("inductive-bias", "conv.conv2d", "translation-equivariance", "feature-order-invariance")
def order_of_the_pixels() -> Figure:
    """What an architecture takes for granted."""
    rates = mistakes()
    traces = []
    for name, errors in rates.items():
        color, dash = PALETTE["convolutions" in name], "dot" if "permuted" in name else "solid"
        drawn = line(name, _SIZES, errors, color, "%{x} examples: %{y:.1%}<extra></extra>")
        traces.append(drawn | {"mode": "lines+markers", "line": {"color": color, "width": 2.5, "dash": dash}})
    layout = {
        "xaxis": axis("training examples", **{**log_scale(_SIZES), "tickvals": _SIZES, "ticktext": _SIZES}),
        "yaxis": axis("mistakes on 300 other digits", tickformat=".0%", rangemode="tozero"),
        "margin": {"l": 56, "r": 16, "t": 50, "b": 44},
    }
    note = (
        "Handwritten digits of 8×8 pixels somewhere in a field of 12×12, and the same with all pixels in another "
        "order, one for all pictures. Dense layers do not know which pixels are neighbours: the order is nothing to "
        "them, and each place is learned alone. Convolutions of about as many weights take neighbours for granted and "
        "know a digit wherever it is, unless the order is lost."
    )
    return Figure(traces, note, layout)
