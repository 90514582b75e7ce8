"""Optimisers: how the gradients g move the parameters θ."""

from collections.abc import Sequence

import numpy as np

from gradlab.scratch.gates import Array
from gradlab.scratch.tensor import Tensor


class Optimizer:
    """Moves each parameter by its update rule, and forgets the gradients. A rule is all that a subclass adds."""

    def __init__(self, parameters: Sequence[Tensor], lr: float):
        self.parameters = list(parameters)
        self.lr = lr
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        for i, parameter in enumerate(self.parameters):
            if parameter.grad is not None:
                parameter.value = parameter.value + self.update(i, parameter.grad)
                parameter.grad = None

    def update(self, i: int, g: Array) -> Array:
        """What is added to parameter number i."""
        raise NotImplementedError


class SGD(Optimizer):
    """θ ← θ - η g."""

    def update(self, i: int, g: Array) -> Array:
        return -self.lr * g


class Momentum(Optimizer):
    """v ← m v - η g,  θ ← θ + v: the heavy ball. Where g is constant, it ends 1 / (1 - m) times as fast."""

    def __init__(self, parameters: Sequence[Tensor], lr: float, momentum: float = 0.9):
        super().__init__(parameters, lr)
        self.momentum = momentum
        self.velocity = [np.zeros(p.shape) for p in self.parameters]

    def update(self, i: int, g: Array) -> Array:
        self.velocity[i] = self.momentum * self.velocity[i] - self.lr * g
        return self.velocity[i]


class Adam(Optimizer):
    """v ← β₁ v + (1 - β₁) g,  s ← β₂ s + (1 - β₂) g²,  θ ← θ - η v̂ / (√ŝ + ε).

    The hats divide by 1 - βᵗ, t = 1, 2, …: v and s begin at 0, and a mean of few terms would be too small otherwise.
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ):
        super().__init__(parameters, lr)
        self.betas, self.eps = betas, eps
        self.mean = [np.zeros(p.shape) for p in self.parameters]
        self.square = [np.zeros(p.shape) for p in self.parameters]

    def update(self, i: int, g: Array) -> Array:
        b1, b2 = self.betas
        self.mean[i] = b1 * self.mean[i] + (1 - b1) * g
        self.square[i] = b2 * self.square[i] + (1 - b2) * g**2
        unbiased_mean = self.mean[i] / (1 - b1**self.steps)
        unbiased_square = self.square[i] / (1 - b2**self.steps)
        return -self.lr * unbiased_mean / (np.sqrt(unbiased_square) + self.eps)
