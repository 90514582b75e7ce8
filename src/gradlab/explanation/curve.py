"""What of a block can be drawn as a curve: a function of one number and its slope, or a schedule."""

from collections.abc import Callable

import torch
from torch import Tensor

from gradlab.explanation.plot import Plot
from gradlab.nn.activations import Activation
from gradlab.nn.attention.pooling import KernelAttention
from gradlab.nn.blocks import find_block
from gradlab.training.schedules import Schedule
from gradlab.verification import examples

Function = Callable[..., Tensor]

_POINTS = 401
_PREDICTION = "the prediction, where the target is 0"
_TWO = "the first of two probabilities; the other distribution is (½, ½)"


def _of_prediction(loss: Function, x: Tensor) -> Tensor:
    return loss(x, torch.zeros_like(x), reduction="none")


def _of_logit(loss: Function, x: Tensor) -> Tensor:
    return loss(x, torch.ones_like(x), reduction="none")


def _beside_zero(x: Tensor) -> Tensor:
    return torch.stack([x, torch.zeros_like(x)], dim=-1)


def _two(p: Tensor) -> Tensor:
    return torch.stack([p, 1 - p], dim=-1)


def _from_even(divergence: Function, p: Tensor) -> Tensor:
    return divergence(_two(p), _two(torch.full_like(p, 0.5)))


# By name: the function of x, what x is, and the ends of both axes.
_Shown = tuple[Callable[[Function, Tensor], Tensor], str, tuple[float, float], tuple[float, float]]
_FUNCTIONS: dict[str, _Shown] = {
    **{f"loss.{name}": (_of_prediction, _PREDICTION, (-4, 4), (-4, 6)) for name in ("squared", "absolute", "huber")},
    "loss.gaussian_nll": (_of_prediction, "the mean, where the target is 0 and the deviation 1", (-4, 4), (-4, 6)),
    "loss.binary_cross_entropy": (_of_logit, "the logit, where the target is 1", (-6, 6), (-2, 6)),
    **{
        f"loss.{name}": (_of_logit, "the score, where the target is 1", (-3, 3), (-4, 6))
        for name in ("hinge", "squared_hinge")
    },
    "loss.poisson_nll": (_of_logit, "the logarithm of the mean, where the count is 1", (-4, 3), (-2, 6)),
    "loss.cross_entropy": (
        lambda loss, x: loss(_beside_zero(x), torch.zeros(len(x), dtype=torch.long), reduction="none"),
        "the logit of the true class, where that of the one other class is 0",
        (-6, 6),
        (-2, 6),
    ),
    **{
        f"activation.{name}": (
            lambda f, x: f(_beside_zero(x))[:, 0],
            "an entry beside one that is 0",
            (-6, 6),
            (-0.2, 1.2),
        )
        for name in ("softmax", "argmax")
    },
    "divergence.entropy": (lambda f, p: f(_two(p)), "the first of two probabilities", (0.002, 0.998), (-2, 2)),
    **{
        f"divergence.{name}": (_from_even, _TWO, (0.002, 0.998), (-2, 2))
        for name in ("kl", "jensen_shannon", "total_variation")
    },
}


def curve(name: str) -> Plot | None:
    """The curve of a block, where it has one that says something."""
    block = find_block(name)
    built = block(**examples[name]().settings) if isinstance(block, type) else block
    if isinstance(built, Activation):
        return _function(built, "the input", (-4, 4), (-2, 4))
    if isinstance(built, KernelAttention):
        return _kernel(type(built)(width=1.0))
    if name not in _FUNCTIONS:
        return None
    function, over, across, up = _FUNCTIONS[name]
    return _function(lambda x: function(built, x), over, across, up)


def _function(
    function: Callable[[Tensor], Tensor], over: str, across: tuple[float, float], up: tuple[float, float]
) -> Plot:
    x = torch.linspace(*across, _POINTS, requires_grad=True)
    y = function(x)
    slope = torch.autograd.grad(y.sum(), x)[0] if y.requires_grad else torch.zeros_like(x)
    return Plot(x.tolist(), over, {"the function": y.tolist(), "its slope": slope.tolist()}, up)


def _kernel(attention: KernelAttention) -> Plot:
    """What a key at a distance counts beside one at none."""
    distance = torch.linspace(0, 3, _POINTS)
    keys = torch.stack([distance, torch.zeros_like(distance)], dim=-1)[..., None]
    far, near = attention.weights(torch.zeros(_POINTS, 1, 1), keys).unbind(-1)
    lines = {"the weight of a key beside one where the query is": (far / near)[:, 0].tolist()}
    return Plot(distance.tolist(), "its distance from the query, in widths", lines, (0, 1.1))


def schedule_curve(schedule: Schedule, steps: int) -> Plot:
    """Its factor over the steps of a run."""
    lines = {"the factor of train.lr": [schedule(step) for step in range(steps)]}
    return Plot(list(range(steps)), f"the steps of a run of {steps}, with the defaults of its knobs", lines, (0, 1.05))
