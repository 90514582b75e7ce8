"""Markov chains on any state space: a kernel that draws the next state from the present one."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor
from gradlab.maths.probability.normal import Normal

Kernel = Callable[[Tensor, torch.Generator | None], Tensor]
"""Draws a next state for each of some states, of the same shape."""


def simulate(
    kernel: Kernel, start: Float[Tensor, "*shape"], steps: int, generator: torch.Generator | None = None
) -> Float[Tensor, "times *shape"]:
    r"""Draws of a chain at the times 0 to `steps`.

    $$ X_{n+1} \sim A(X_n, \cdot), \qquad A(x, V) = 1 \text{ for every state } x $$

    >>> simulate(lambda x, generator: 2 * x, torch.tensor([1.0]), 3).flatten()
    tensor([1., 2., 4., 8.])
    """
    path = [start]
    for _ in range(steps):
        path.append(kernel(path[-1], generator))
        if path[-1].shape != start.shape:
            got = tuple(path[-1].shape)
            raise GradlabError(f"simulate: the kernel made states of shape {got} of those of {tuple(start.shape)}.")
    return torch.stack(path)


class NormalKernel:
    r"""A step to a normal variable around an affine function of the state.

    $$ A(x, \cdot) = N(F x + b, \Sigma) $$

    By default F is the identity and b = 0: a random walk with normal steps, after n of them $N(x_0, n \Sigma)$.

    >>> walk = NormalKernel([[2.0]])
    >>> walk.law(Normal([1.0], [[0.0]]), 3)
    Normal(mean=[1.0], covariance=[[6.0]])
    """

    def __init__(self, covariance: Any, matrix: Any = None, shift: Any = None):
        covariance = tensor(covariance)
        dim = covariance.shape[-1]
        self.noise = Normal(covariance.new_zeros(dim) if shift is None else tensor(shift), covariance)
        self.matrix = torch.eye(dim).to(covariance) if matrix is None else tensor(matrix)
        if self.matrix.shape != (dim, dim):
            raise GradlabError(f"NormalKernel: matrix must be {(dim, dim)}, got {tuple(self.matrix.shape)}.")

    def __call__(self, state: Float[Tensor, "*batch dim"], generator: torch.Generator | None = None) -> Tensor:
        moved = self._moved(state)
        return moved + self.noise.sample(*moved.shape[:-1], generator=generator)

    def density(
        self, state: Float[Tensor, "*batch dim"], after: Float[Tensor, "*batch dim"]
    ) -> Float[Tensor, "*batch"]:
        r"""Of going from a state to another one; its integral over `after` is 1 for every state."""
        return self.noise.density(tensor(after).to(self.matrix) - self._moved(state))

    def _moved(self, state: Any) -> Tensor:
        return tensor(state).to(self.matrix) @ self.matrix.mT

    def law(self, start: Normal, steps: int) -> Normal:
        """Of the state after so many steps, from a state that is normal too."""
        for _ in range(steps):
            start = start.affine(self.matrix).add_independent(self.noise)
        return start
