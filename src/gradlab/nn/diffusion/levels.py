"""A level of noise, and how data, noise and velocity follow from each other there."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from jaxtyping import Float
from torch import Tensor

Target = Literal["noise", "data", "velocity"]
"""What a network says of noisy data: ε, x₀, or which way they move."""

Batch = Float[Tensor, "batch *shape"]


@dataclass(frozen=True)
class Level:
    r"""How much of noisy data is data, and how much is noise.

    $$ x = \alpha x_0 + \sigma \varepsilon, \qquad v = \dot\alpha x_0 + \dot\sigma \varepsilon, \qquad
       \alpha \dot\sigma - \sigma \dot\alpha = 1 $$

    The rates α̇ and σ̇ are along a parameter of the path for which the last equation holds: an angle where α² + σ² = 1,
    the time of straight paths, and σ itself where α = 1. All are numbers, or tensors with an entry for each example.
    `time` is what a network is conditioned on, from 0 (data) to 1 (noise).

    >>> level = Level(time=0.5, alpha=0.8, sigma=0.6, alpha_rate=-0.6, sigma_rate=0.8)
    >>> level.mixed(1.0, 2.0), level.velocity(1.0, 2.0)
    (2.0, 1.0)
    """

    time: Any
    alpha: Any
    sigma: Any
    alpha_rate: Any
    sigma_rate: Any

    def mixed(self, data: Any, noise: Any) -> Any:
        """x"""
        return self.alpha * data + self.sigma * noise

    def velocity(self, data: Any, noise: Any) -> Any:
        """v"""
        return self.alpha_rate * data + self.sigma_rate * noise

    def scaled(self, x: Any) -> Any:
        """Noisy data as a network sees them: divided by √(α² + σ²), their spread where that of the data is 1."""
        return x / (self.alpha**2 + self.sigma**2) ** 0.5

    def target(self, kind: Target, data: Any, noise: Any) -> Any:
        """What a network that answers by this kind should have said."""
        if kind == "velocity":
            return self.velocity(data, noise)
        return noise if kind == "noise" else data

    @property
    def snr(self) -> Any:
        """The ratio of signal to noise, α²/σ²."""
        return (self.alpha / self.sigma) ** 2

    def score(self, noise: Any) -> Any:
        r"""$\nabla_x \log q(x \mid x_0) = -\varepsilon / \sigma$"""
        return -noise / self.sigma


CLEAN = Level(0.0, 1.0, 0.0, 0.0, 1.0)
"""Data without any noise."""


class Reading(NamedTuple):
    r"""How data and noise follow from noisy data x and what a network says of them, f.

    $$ \hat x_0 = a x + b f, \qquad \hat\varepsilon = c x + d f $$
    """

    data_x: Any
    data_f: Any
    noise_x: Any
    noise_f: Any

    def data(self, x: Any, said: Any) -> Any:
        return self.data_x * x + self.data_f * said

    def noise(self, x: Any, said: Any) -> Any:
        return self.noise_x * x + self.noise_f * said


def reading(kind: Target, level: Level) -> Reading:
    r"""What is said by a target of this kind, at this level: x = α x₀ + σ ε solved for both.

    $$ \text{noise: } \hat x_0 = \frac{x - \sigma f}{\alpha}, \qquad
       \text{data: } \hat\varepsilon = \frac{x - \alpha f}{\sigma}, \qquad
       \text{velocity: } \hat x_0 = \dot\sigma x - \sigma f, \; \hat\varepsilon = \alpha f - \dot\alpha x $$

    >>> level = Level(time=0.5, alpha=0.8, sigma=0.6, alpha_rate=-0.6, sigma_rate=0.8)
    >>> said = reading("velocity", level)
    >>> round(said.data(2.0, 1.0), 9), round(said.noise(2.0, 1.0), 9)
    (1.0, 2.0)
    """
    if kind == "noise":
        return Reading(1 / level.alpha, -level.sigma / level.alpha, 0.0, 1.0)
    if kind == "data":
        return Reading(0.0, 1.0, 1 / level.sigma, -level.alpha / level.sigma)
    return Reading(level.sigma_rate, -level.sigma, -level.alpha_rate, level.alpha)
