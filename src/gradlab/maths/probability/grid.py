"""Densities on grids: marginal and conditional densities by the trapezoidal rule, with a name for each axis."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from gradlab.errors import GradlabError, unknown
from gradlab.maths.arrays import tensor


class GridDensity:
    r"""A joint density at the points of a grid, an axis for each variable.

    $$ P[Z \in B] = \int_B p(z) \, dz, \qquad p(x) = \int p(x, y) \, dy, \qquad p(x \mid y) = \frac{p(x, y)}{p(y)} $$

    Integrals are by the trapezoidal rule over the grid, which is nearly exact for smooth densities that vanish at
    its ends. Values need no factor: they are divided by their integral, which is kept in `mass`.

    >>> triangle = GridDensity.of(lambda x, y: x + y, x=torch.linspace(0, 1, 101), y=torch.linspace(0, 1, 101))
    >>> triangle.marginal("x").values[::50]
    tensor([0.5000, 1.0000, 1.5000])
    """

    def __init__(self, values: Any, **grids: Any):
        self.grids = {name: tensor(grid) for name, grid in grids.items()}
        values = tensor(values)
        sizes = tuple(len(grid) for grid in self.grids.values())
        if (shape := tuple(values.shape)) != sizes:
            raise GradlabError(f"GridDensity: values must have the shape {sizes} of the grids, not {shape}.")
        for name, grid in self.grids.items():
            if len(grid) < 2 or not bool((grid.diff() > 0).all()):
                raise GradlabError(f"GridDensity: the grid of {name} must have two points or more, in rising order.")
        if bool((values < 0).any()):
            lowest = float(values.detach().min())
            raise GradlabError(f"GridDensity: a density is at least 0, its lowest value is {lowest:g}.")
        self.mass = self._integral(values, self.names)
        if not float(self.mass.detach()) > 0:
            raise GradlabError("GridDensity: the density is 0 at every point of the grid. Move the grid.")
        self.values = values / self.mass

    @classmethod
    def of(cls, density: Callable[..., Tensor], **grids: Any) -> "GridDensity":
        """Of a function of one tensor for each variable, in the order of the grids."""
        points = torch.meshgrid(*map(tensor, grids.values()), indexing="ij")
        return cls(density(*points), **grids)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.grids)

    def marginal(self, *names: str) -> "GridDensity":
        """The density of some of the variables, which stay in their order."""
        self._known(names)
        kept = {name: grid for name, grid in self.grids.items() if name in names}
        return GridDensity(self._integral(self.values, [name for name in self.names if name not in kept]), **kept)

    def condition(self, **values: float) -> "GridDensity":
        """The density of the others, once these have these values; between points of the grid it is interpolated."""
        self._known(tuple(values))
        p, kept = self.values, {name: grid for name, grid in self.grids.items() if name not in values}
        for axis in reversed(range(len(self.names))):
            if (name := self.names[axis]) in values:
                p = _at(p.movedim(axis, -1), self.grids[name], values[name], name)
        return GridDensity(p, **kept)

    def expectation(self, function: Callable[..., Tensor]) -> Tensor:
        """The mean of a function of the variables; of an indicator, the probability."""
        points = torch.meshgrid(*self.grids.values(), indexing="ij")
        return self._integral(function(*points) * self.values, self.names)

    def _integral(self, values: Tensor, names: Sequence[str]) -> Tensor:
        for axis in reversed(range(len(self.names))):
            if self.names[axis] in names:
                values = torch.trapezoid(values, self.grids[self.names[axis]], dim=axis)
        return values

    def _known(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.grids:
                raise unknown("variable", name, self.names)


def _at(values: Tensor, grid: Tensor, place: float, name: str) -> Tensor:
    """Values along the last axis at a place of their grid."""
    if not float(grid[0]) <= place <= float(grid[-1]):
        raise GradlabError(f"GridDensity: {name}={place:g} is outside of its grid, {grid[0]:g} to {grid[-1]:g}.")
    right = int(torch.searchsorted(grid, place).clamp(1, len(grid) - 1))
    share = (place - grid[right - 1]) / (grid[right] - grid[right - 1])
    return torch.lerp(values[..., right - 1], values[..., right], share)
