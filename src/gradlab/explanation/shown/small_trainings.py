"""Pictures of what happens to a small network while it learns."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.explanation.picture import Figure, shown
from gradlab.maths.layer_inputs import batch_norm_noise, covariate_shift
from gradlab.maths.optimisation.landscape import loss_landscape, principal_directions, random_direction
from gradlab.nn import BatchNorm, Linear, ReLU
from gradlab.nn.initialisation import fill_weights
from gradlab.registry import Part
from gradlab.report.charts import CARD, HEAT, INK, PALETTE, SOFT, Trace, axis, dots, line, log_scale


def _rings(count: int = 200) -> tuple[Tensor, Tensor]:
    """Points of two rings, and which ring each is of."""
    draw = torch.Generator().manual_seed(1)
    angle, label = 2 * np.pi * torch.rand(count, generator=draw), torch.arange(count) % 2
    radius = 0.7 + 0.8 * label + 0.12 * torch.randn(count, generator=draw)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1).double(), label


def _network(depth: int, width: int, norm: bool = False, seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        for i in range(depth):
            layers += [Linear(width if i else 2, width), *([BatchNorm(width)] if norm else []), ReLU()]
        return fill_weights(nn.Sequential(*layers, Linear(width, 2)), Part("he")).double()


def _training(model: nn.Module, x: Tensor, y: Tensor, steps: int, lr: float) -> Iterator[float]:
    """A full-batch step for each item, which is its loss."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        yield float(loss.detach())


def _contours(x: Any, y: Any, z: Any) -> Trace:
    colors = {"colorscale": [(0, HEAT), (1, CARD)], "line": {"width": 0.7}, "opacity": 0.8}
    bar = {"colorbar": {"title": {"text": "log₁₀ loss"}, "tickfont": {"color": INK}}}
    return {"type": "contour", "x": x, "y": y, "z": z, "hovertemplate": "%{z:.2f}<extra></extra>", **colors, **bar}


@shown("loss-landscape", "maths.random_direction")
def landscape_of_a_small_network() -> Figure:
    """A loss landscape."""
    (x, y), model = _rings(), _network(3, 16)
    for _ in _training(model, x, y, 400, 0.2):
        pass
    draw = torch.Generator().manual_seed(3)
    first, second = random_direction(model, draw), random_direction(model, draw)
    seen = loss_landscape(model, lambda: F.cross_entropy(model(x), y), first, second, 1.0, 41)
    lowest = float(seen.losses[20, 20])
    traces = [
        _contours(seen.shares, seen.shares, seen.losses.log10()),
        dots(f"trained weights, loss {lowest:.3f}", [0.0], [0.0], INK, size=11, symbol="star"),
    ]
    layout = {
        "xaxis": axis("share of the first direction", constrain="domain"),
        "yaxis": axis("share of the second", scaleanchor="x", constrain="domain"),
        "height": 480,
    }
    note = (
        "The loss of a network of three hidden layers on a plane through its trained weights. Both directions are "
        "random, with each unit's weights as long as the unit's own: a share of 1 is a change as large as the weights, "
        "whatever the scale of a layer."
    )
    return Figure(traces, note, layout)


@shown("training-path")
def path_of_a_training() -> Figure:
    """The path of a training."""
    (x, y), model = _rings(), _network(2, 16)
    start = [p.detach().clone() for p in model.parameters()]
    training = _training(model, x, y, 600, 0.3)
    weights = [start, *([p.detach().clone() for p in model.parameters()] for _ in training)]
    first, second, places = principal_directions(weights)
    span = 1.15 * float(places.abs().max())
    seen = loss_landscape(model, lambda: F.cross_entropy(model(x), y), first, second, span, 41)
    hover = "step %{pointNumber}<extra></extra>"
    traces = [
        _contours(seen.shares, seen.shares, seen.losses.log10()),
        line("gradient descent", places[:, 0], places[:, 1], PALETTE[1], hover, 2.5),
        dots("start", places[:1, 0], places[:1, 1], INK, size=9),
        dots("end", places[-1:, 0], places[-1:, 1], INK, size=11, symbol="star"),
    ]
    moved = torch.stack([torch.cat([p.flatten() for p in step]) for step in weights])
    share = float(places.square().sum() / (moved - moved[-1]).square().sum())
    layout = {
        "xaxis": axis("first principal direction", range=[-span, span], constrain="domain"),
        "yaxis": axis("second", range=[-span, span], scaleanchor="x", constrain="domain"),
        "height": 480,
    }
    note = (
        f"The plane in which the weights of 600 full-batch steps lie best: it holds {share:.1%} of how far they were "
        f"from the end, of {moved.shape[1]} dimensions. The loss is that of the weights in the plane, not of the path "
        "beside it."
    )
    return Figure(traces, note, layout)


@shown("internal-covariate-shift", "maths.distribution_shift")
def shift_with_and_without_normalisation() -> Figure:
    """Internal covariate shift."""
    (x, y), steps, every = _rings(), 300, 5
    traces = []
    for norm, color, name in ((False, PALETTE[1], "without"), (True, PALETTE[0], "with batch norm")):
        model = _network(4, 24, norm)
        moved = covariate_shift(model, x, islice(_training(model, x, y, steps, 0.05), every - 1, None, every))
        for layer, style in ((0, "dot"), (3, "solid")):
            label = f"{name}, inputs of layer {layer + 2} of 5"
            drawn = line(
                label, np.arange(every, steps + 1, every), moved[:, layer].clamp(min=1e-4), color, "step %{x}: %{y:.3g}"
            )
            traces.append(drawn | {"line": {"color": color, "width": 2.5, "dash": style}})
    values = [value for trace in traces for value in trace["y"].tolist()]
    layout = {
        "xaxis": axis("steps"),
        "yaxis": axis("shift since the start: mean KL of a feature", **log_scale(values)),
        "margin": {"l": 56, "r": 16, "t": 50, "b": 44},
    }
    note = (
        "How far the inputs of a layer have moved while those before it learned: the divergence, as of normal numbers, "
        "from their distribution before the first step, on the same examples. The same network and step size, with and "
        "without normalisation before each activation."
    )
    return Figure(traces, note, layout)


@shown("bn-minibatch-noise", "maths.batch_norm_noise")
def noise_of_batch_norm() -> Figure:
    """The noise of batch norm."""
    sizes = [4, 8, 16, 32, 50, 64, 100, 128, 256, 512]
    traces = []
    for color, value in zip(PALETTE, (0.0, 1.0, 2.0), strict=False):
        draw = torch.Generator().manual_seed(0)
        noise = [batch_norm_noise(value, size, 3000, draw)[1] ** 0.5 for size in sizes]
        traces.append(dots(f"x = {value:g}, measured", sizes, noise, color, "batches of %{x}: %{y:.3f}<extra></extra>"))
        wanted = ((1 + value**2 / 2) / np.array(sizes)) ** 0.5
        traces.append(line(f"√((1 + {value:g}²/2) / B)", sizes, wanted, color, "", 1.5) | {"hoverinfo": "skip"})
    usual = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "x0": 50, "x1": 100, "layer": "below"}
    shapes = [{**usual, "fillcolor": SOFT, "opacity": 0.15, "line": {"width": 0}}]
    layout = {
        "xaxis": axis("batch size B", **log_scale(sizes)),
        "yaxis": axis("standard deviation over batches", **log_scale([0.03, 1.0])),
        "shapes": shapes,
        "margin": {"l": 56, "r": 16, "t": 50, "b": 44},
    }
    note = (
        "Batch norm sees one number x, in standard deviations of its feature, a little differently in each batch. The "
        "noise falls with the root of the batch size: some tenths in small batches, and 10 to 14 % at the usual 50 to "
        "100 (shaded) for an x in the middle, where it regularises and does not yet disturb. In the smallest batches x "
        "is itself much of the mean and of the deviation, and the formula no longer holds."
    )
    return Figure(traces, note, layout)


@shown("sigmoid-problems")
def gradients_of_one_sign() -> Figure:
    """Gradients of one sign."""
    draw = torch.Generator().manual_seed(2)
    z = torch.randn(64, 2, generator=draw, dtype=torch.float64)
    target = torch.tensor([1.0, -1.0], dtype=torch.float64)
    traces = []
    hidden = (
        ("behind a sigmoid, all positive", torch.sigmoid(3 * z), PALETTE[1]),
        ("behind a tanh", torch.tanh(3 * z), PALETTE[0]),
    )
    for name, inputs, color in hidden:
        weight, path, same = torch.zeros(2, dtype=torch.float64), [[0.0, 0.0]], 0
        wanted = inputs @ target
        for step in range(60):
            a = inputs[step % len(inputs)]
            gradient = (a @ weight - wanted[step % len(inputs)]) * a
            same += int(bool(gradient[0] * gradient[1] > 0))
            weight = weight - 0.5 * gradient
            path.append(weight.tolist())
        x, y = np.array(path).T
        label = f"{name}: both of one sign in {same} of 60 steps"
        hover = "step %{pointNumber}: (%{x:.2f}, %{y:.2f})<extra></extra>"
        traces.append(
            line(label, x, y, color, hover) | {"mode": "lines+markers", "marker": {"size": 5, "color": color}}
        )
    traces.append(dots("the weights that are wanted", [1.0], [-1.0], INK, size=11, symbol="star"))
    layout = {
        "xaxis": axis("w₁", constrain="domain"),
        "yaxis": axis("w₂", scaleanchor="x", constrain="domain"),
        "margin": {"l": 56, "r": 16, "t": 50, "b": 44},
        "height": 480,
    }
    note = (
        "A unit learns its two weights, an example at a time. Its gradient is δ a: behind a sigmoid all a are "
        "positive, so that both weights rise or both fall at every step, and only a zigzag leads to where one must "
        "rise and the other fall. Inputs of both signs have no such rule."
    )
    return Figure(traces, note, layout)
