"""The loss of a network on a plane through its weights."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from gradlab.errors import GradlabError

Direction = list[Tensor]
"""A tensor for each parameter of a network."""


class Landscape(NamedTuple):
    """Losses over a grid of shares of two directions."""

    shares: Float[Tensor, " points"]
    losses: Float[Tensor, "points points"]
    """In row i and column j, that of share j of the first direction and share i of the second."""


def random_direction(model: nn.Module, generator: Generator | None = None) -> Direction:
    r"""A random direction in which each unit's weights are as long as they are in the network.

    $$ d_u \leftarrow \frac{d_u}{\lVert d_u \rVert} \, \lVert w_u \rVert $$

    So a network and the same one with weights that are moved from one layer of ReLU to the next look alike. Vectors,
    which are biases and gains, stay. Li et al. 2018, arXiv:1712.09913.

    >>> layer = nn.Linear(5, 2)
    >>> weight, bias = random_direction(layer)
    >>> torch.allclose(weight.norm(dim=1), layer.weight.norm(dim=1)), bias.tolist()
    (True, [0.0, 0.0])
    """
    directions = []
    for parameter in model.parameters():
        if parameter.ndim < 2:
            directions.append(torch.zeros_like(parameter))
            continue
        drawn = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
        norms = [x.detach().flatten(1).norm(dim=1) for x in (parameter, drawn)]
        scale = norms[0] / norms[1].clamp(min=torch.finfo(drawn.dtype).tiny)
        directions.append(drawn * scale.reshape(-1, *[1] * (parameter.ndim - 1)))
    return directions


def principal_directions(weights: Sequence[Direction]) -> tuple[Direction, Direction, Float[Tensor, "steps 2"]]:
    r"""The two directions in which the weights of a training varied most around the last, and where each step lies.

    $$ (\theta_t - \theta_T)_t = U \Sigma V^\top, \qquad d_1 = v_1, \quad d_2 = v_2 $$

    >>> line = [[torch.tensor([t, 0.0])] for t in (3.0, 2.0, 0.0)]
    >>> first, second, places = principal_directions(line)
    >>> first[0].abs().tolist(), places[:, 0].abs().tolist()
    ([1.0, 0.0], [3.0, 2.0, 0.0])
    """
    if len(weights) < 3:
        raise GradlabError(f"Two directions of a training need three of its steps, got {len(weights)}.")
    rows = torch.stack([torch.cat([p.detach().flatten() for p in step]) for step in weights])
    axes = torch.linalg.svd(rows - rows[-1], full_matrices=False).Vh[:2]
    shapes = [p.shape for p in weights[-1]]
    first, second = (
        [part.reshape(shape) for part, shape in zip(v.split([s.numel() for s in shapes]), shapes, strict=True)]
        for v in axes
    )
    return first, second, (rows - rows[-1]) @ axes.T


@torch.no_grad()
def loss_landscape(
    model: nn.Module,
    loss: Callable[[], Tensor],
    first: Direction,
    second: Direction,
    span: float = 1.0,
    points: int = 21,
) -> Landscape:
    r"""The loss around a network's weights, which are as before when it is done.

    $$ L(a, b) = \mathrm{loss}(\theta + a \, d_1 + b \, d_2), \qquad -s \le a, b \le s $$

    >>> model = nn.Linear(1, 1)
    >>> valley = loss_landscape(model, lambda: (model.weight**2).sum(), *([torch.ones(1, 1), torch.zeros(1)],) * 2)
    >>> valley.losses.shape
    torch.Size([21, 21])
    """
    if points < 2 or not span > 0:
        raise GradlabError(f"A landscape needs two points and a span larger than 0, got {points} and {span}.")
    parameters = list(model.parameters())
    start = [p.detach().clone() for p in parameters]
    shares = torch.linspace(-span, span, points, dtype=torch.float64)
    losses = torch.empty(points, points, dtype=torch.float64)
    try:
        for i, b in enumerate(shares.tolist()):
            for j, a in enumerate(shares.tolist()):
                for parameter, centre, d1, d2 in zip(parameters, start, first, second, strict=True):
                    parameter.copy_(centre + a * d1 + b * d2)
                losses[i, j] = loss()
    finally:
        for parameter, centre in zip(parameters, start, strict=True):
            parameter.copy_(centre)
    return Landscape(shares, losses)
