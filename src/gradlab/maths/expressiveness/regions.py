"""The affine pieces of a ReLU network, exactly: on a segment of its inputs, or on a piece of a plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor

Array = npt.NDArray[np.float64]
_ROUNDING = 1e-11  # relative to the largest value: what is nearer to a bend lies on it


@dataclass(frozen=True)
class Region:
    """Inputs with one pattern of active units: a convex set on which the network is one affine map."""

    vertices: Array
    """Of the segment or the polygon, in the coordinates of the slice."""
    pattern: tuple[bool, ...]
    """Which hidden units are active, layer by layer."""
    weight: Array
    bias: Array
    """The network on it is `weight` @ t + `bias`, for coordinates t."""


def affine_regions(
    network: nn.Sequential, low: Sequence[float], high: Sequence[float], origin: Any = None, directions: Any = None
) -> list[Region]:
    r"""All regions of a network of dense layers and ReLU within a slice of its inputs of one or two dimensions.

    $$ x = x_0 + \sum_i t_i \, d_i, \qquad \text{low}_i \le t_i \le \text{high}_i $$

    x₀ is `origin`, by default 0; `directions` are by default the axes, for networks of one or two inputs. Each layer
    cuts the pieces there are along the lines on which one of its units is 0.

    >>> from gradlab.maths.expressiveness.tent import tent_network
    >>> len(affine_regions(tent_network(5), [0.0], [1.0]))
    32
    """
    inputs = next((layer.in_features for layer in network if isinstance(layer, nn.Linear)), 0)
    axes = np.eye(inputs) if directions is None else tensor(directions).numpy()
    start = np.zeros(inputs) if origin is None else tensor(origin).numpy()
    _check_slice(inputs, axes, start, low, high)
    corners = [[low[0]], [high[0]]]
    if len(axes) == 2:
        corners = [[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]]
    regions = [Region(np.array(corners, float), (), axes.T.astype(float), start.astype(float))]
    for layer in network:
        if isinstance(layer, nn.Linear):
            weight = layer.weight.detach().double().numpy()
            bias = np.zeros(len(weight)) if layer.bias is None else layer.bias.detach().double().numpy()
            regions = [Region(r.vertices, r.pattern, weight @ r.weight, weight @ r.bias + bias) for r in regions]
        elif type(layer).__name__ == "ReLU":
            regions = [bent for region in regions for bent in _bend(region)]
        elif not isinstance(layer, nn.Flatten | nn.Identity | nn.Dropout):
            raise GradlabError(f"Regions are those of dense layers and ReLU; {type(layer).__name__} is neither.")
    return regions


def _check_slice(inputs: int, axes: Array, start: Array, low: Sequence[float], high: Sequence[float]) -> None:
    if not inputs:
        raise GradlabError("The network has no dense layer, so that it has no regions.")
    if len(axes) not in (1, 2) or axes.shape[1:] != (inputs,) or start.shape != (inputs,):
        raise GradlabError(
            f"A slice has an origin of {inputs} numbers, as the network has inputs, and one or two directions of as "
            f"many; got {start.shape} and {axes.shape}."
        )
    if not len(low) == len(high) == len(axes) or any(a >= b for a, b in zip(low, high, strict=True)):
        raise GradlabError(
            f"low and high must have {len(axes)} numbers, each low below its high; got {low} and {high}."
        )


def _bend(region: Region) -> list[Region]:
    """A region cut along the lines where some unit is 0, and the units of each part after ReLU."""
    cells = [region.vertices]
    for slope, offset in zip(region.weight, region.bias, strict=True):
        cells = [part for cell in cells for part in _cut(cell, cell @ slope + offset)]
    bent = []
    for cell in cells:
        active = cell.mean(0) @ region.weight.T + region.bias > 0
        pattern = region.pattern + tuple(active.tolist())
        bent.append(Region(cell, pattern, active[:, None] * region.weight, active * region.bias))
    return bent


def _cut(vertices: Array, values: Array) -> list[Array]:
    """Both sides of the line on which a value is 0, if there are two; vertices of polygons go round."""
    largest = np.abs(values).max()
    values = np.where(np.abs(values) <= _ROUNDING * max(largest, 1.0), 0.0, values)
    if (values >= 0).all() or (values <= 0).all():
        return [vertices]
    sides: tuple[list[Array], list[Array]] = ([], [])
    count = len(vertices)
    for i in range(count):
        j = (i + 1) % count
        for side, sign in zip(sides, (1, -1), strict=True):
            if sign * values[i] >= 0:
                side.append(vertices[i])
            if values[i] * values[j] < 0 and (count > 2 or i == 0):  # a segment has one edge, not two
                side.append(vertices[i] + (vertices[j] - vertices[i]) * values[i] / (values[i] - values[j]))
    return [np.array(side) for side in sides]


def kinks(network: nn.Sequential, low: float, high: float) -> Array:
    """Where the slope of a network of one input changes between two numbers; bends of units that cancel are none.

    >>> from gradlab.maths.expressiveness.piecewise import relu_network
    >>> kinks(relu_network([0.0, 1.0], [0.0, 2.0, -1.0]), -5.0, 5.0).tolist()
    [0.0, 1.0]
    """
    pieces = sorted(affine_regions(network, [low], [high]), key=lambda region: float(region.vertices.min()))
    slopes, starts = np.array([p.weight[:, 0] for p in pieces]), np.array([p.vertices.min() for p in pieces])
    changes = np.abs(np.diff(slopes, axis=0)).max(1) > _ROUNDING * max(1.0, float(np.abs(slopes).max()))
    kinked: Array = starts[1:][changes]
    return kinked


def most_regions(inputs: int, widths: Sequence[int]) -> int:
    r"""What no network of these hidden widths has more regions than.

    $$ \prod_{l=1}^{L} \sum_{j=0}^{\min(d, n_l)} \binom{n_l}{j} $$

    Each layer cuts every region at most so often. With one layer it is met, by lines in general position (Zaslavsky
    1975).

    >>> most_regions(2, [4]), most_regions(2, [4, 4])
    (11, 121)
    """
    return prod(sum(comb(width, j) for j in range(min(inputs, width) + 1)) for width in widths)


def reached_regions(inputs: int, widths: Sequence[int]) -> int:
    r"""How many regions some network of these hidden widths has at least (Montúfar et al. 2014, arXiv:1402.1869).

    $$ \Big( \prod_{l=1}^{L-1} \lfloor n_l / d \rfloor^d \Big) \sum_{j=0}^{d} \binom{n_L}{j} $$

    >>> reached_regions(2, [4, 4])
    44
    """
    *before, last = widths
    cells: int = prod((width // inputs) ** inputs for width in before)
    return cells * most_regions(inputs, [last])


@torch.no_grad()
def sampled_patterns(network: nn.Sequential, x: torch.Tensor) -> set[tuple[bool, ...]]:
    """The patterns of active units that some inputs show: as many regions there are at least.

    >>> from gradlab.maths.expressiveness.tent import tent_network
    >>> len(sampled_patterns(tent_network(3), torch.linspace(0.01, 0.99, 50, dtype=torch.float64)[:, None]))
    8
    """
    active = []
    for layer in network:
        if type(layer).__name__ == "ReLU":
            active.append(x > 0)
        x = layer(x)
    return {tuple(row) for row in torch.cat(active, 1).tolist()}
