"""How noise takes over: a chain of steps, or a path in continuous time."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.nn.diffusion.levels import CLEAN, Level

Schedule = Literal["linear", "cosine", "vp", "ve", "flow"]

_MOST = 0.999  # β of a step: the last of the cosine schedule would leave nothing at all of the data
_FIRST = 1e-4  # the least time: at 0 there is no noise to be seen


@runtime_checkable
class Process(Protocol):
    """What training and samplers ask of one."""

    def level(self, time: float) -> Level:
        """The level of a time from 0 to 1, in numbers of the host."""

    def levels(self, share: Float[Tensor, "*batch"]) -> Level:
        """The levels of examples on their device, whose times are spread as these shares of [0, 1) are."""

    def grid(self, steps: int) -> list[Level]:
        """From noise to clean data in so many steps, all of one length in time."""


@dataclass(frozen=True)
class Chain:
    r"""Noise is added in T steps, by which the data shrink as much as needed for the variance to stay.

    $$ x_t = \sqrt{1 - \beta_t} \, x_{t-1} + \sqrt{\beta_t} \, \varepsilon_t \quad\Rightarrow\quad
       \alpha_t = \sqrt{\bar\alpha_t}, \quad \sigma_t = \sqrt{1 - \bar\alpha_t}, \quad
       \bar\alpha_t = \prod_{s \le t} (1 - \beta_s) $$

    The time of the first step is 1/T, and that of the last is 1. Sohl-Dickstein et al. 2015, arXiv:1503.03585.

    >>> level = Chain((0.19, 0.36)).level(1.0)
    >>> round(level.alpha, 9), round(level.alpha**2 + level.sigma**2, 9)
    (0.72, 1.0)
    """

    betas: tuple[float, ...]
    _on: dict[torch.device, Tensor] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def kept(self) -> list[float]:
        """ᾱ"""
        product, kept = 1.0, []
        for beta in self.betas:
            product *= 1 - beta
            kept.append(product)
        return kept

    def step(self, number: int) -> Level:
        """The level behind the step of this number; the first is 0."""
        alpha, sigma = math.sqrt(self.kept[number]), math.sqrt(1 - self.kept[number])
        return Level((number + 1) / len(self.betas), alpha, sigma, -sigma, alpha)

    def level(self, time: float) -> Level:
        return self.step(min(len(self.betas) - 1, max(0, round(time * len(self.betas)) - 1)))

    def levels(self, share: Float[Tensor, "*batch"]) -> Level:
        number = (share * len(self.betas)).long().clamp(max=len(self.betas) - 1)
        alpha, sigma = self._table(share.device)[:, number]
        return Level((number + 1) / len(self.betas), alpha, sigma, -sigma, alpha)

    def _table(self, device: torch.device) -> Tensor:
        """α and σ of all steps, brought to a device once: a captured step could not."""
        if device not in self._on:
            with torch.inference_mode(False):
                kept = torch.tensor(self.kept, dtype=torch.float64)
                self._on[device] = torch.stack([kept.sqrt(), (1 - kept).sqrt()]).float().to(device)
        return self._on[device]

    def grid(self, steps: int) -> list[Level]:
        total = len(self.betas)
        if steps > total:
            raise GradlabError(
                f"Samples in {steps:,} steps need as many of the noise, which has {total:,}: ask for fewer."
            )
        return [*(self.step(round(total - total * i / steps) - 1) for i in range(steps)), CLEAN]


class Continuous:
    """A path in continuous time, defined by its level at each."""

    first = _FIRST

    def at(self, time: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """α, σ, α̇ and σ̇."""
        raise NotImplementedError

    def level(self, time: float) -> Level:
        return Level(time, *(float(part) for part in self.at(torch.tensor(time, dtype=torch.float64))))

    def levels(self, share: Float[Tensor, "*batch"]) -> Level:
        time = self.first + (1 - self.first) * share
        return Level(time, *self.at(time))

    def grid(self, steps: int) -> list[Level]:
        return [*(self.level(1 - i / steps) for i in range(steps)), CLEAN]


@dataclass(frozen=True)
class VP(Continuous):
    r"""The chain of the linear schedule in the limit of ever smaller steps: the variance is preserved.

    $$ dx = -\tfrac12 \beta(t) x \, dt + \sqrt{\beta(t)} \, dw, \quad \beta(t) = \beta_0 + t (\beta_1 - \beta_0)
       \quad\Rightarrow\quad
       \alpha^2 = e^{-\beta_0 t - \frac12 (\beta_1 - \beta_0) t^2}, \quad \sigma^2 = 1 - \alpha^2 $$

    Song et al. 2021, arXiv:2011.13456.

    >>> level = VP().level(1.0)
    >>> round(level.alpha, 4), round(level.sigma, 4)
    (0.0066, 1.0)
    """

    least: float = 0.1
    most: float = 20.0

    def at(self, time: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        exponent = -self.least * time - (self.most - self.least) * time.square() / 2
        alpha, sigma = (exponent / 2).exp(), (-exponent.expm1()).sqrt()
        return alpha, sigma, -sigma, alpha


@dataclass(frozen=True)
class VE(Continuous):
    r"""Noise is added to data that stay as they are: the variance explodes.

    $$ dx = \sqrt{\tfrac{d \sigma^2}{dt}} \, dw \quad\Rightarrow\quad
       \alpha = 1, \quad \sigma = \sigma_0 (\sigma_1 / \sigma_0)^t $$

    Song et al. 2021, arXiv:2011.13456.

    >>> [round(VE().level(t).sigma, 4) for t in (0.0, 0.5, 1.0)]
    [0.01, 0.7071, 50.0]
    """

    least: float = 0.01
    most: float = 50.0

    first = 0.0

    def at(self, time: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        one = torch.ones_like(time)
        return one, self.least * (self.most / self.least) ** time, torch.zeros_like(time), one


@dataclass(frozen=True)
class Flow(Continuous):
    r"""A straight path from each example to its noise, at a velocity that stays the same.

    $$ x_t = (1 - t) x_0 + t \varepsilon, \qquad v = \varepsilon - x_0 $$

    Lipman et al. 2022, arXiv:2210.02747; Liu et al. 2022, arXiv:2209.03003.

    >>> Flow().level(0.25).mixed(data=4.0, noise=8.0), Flow().level(0.25).velocity(data=4.0, noise=8.0)
    (5.0, 4.0)
    """

    def at(self, time: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        one = torch.ones_like(time)
        return 1 - time, time, -one, one


def linear_betas(steps: int, first: float = 1e-4, last: float = 0.02) -> tuple[float, ...]:
    r"""β grows evenly. Ho et al. 2020, arXiv:2006.11239.

    >>> linear_betas(3, 0.1, 0.3)
    (0.1, 0.2, 0.3)
    """
    return tuple(torch.linspace(first, last, steps, dtype=torch.float64).tolist())


def cosine_betas(steps: int, offset: float = 0.008) -> tuple[float, ...]:
    r"""What is left of the data falls like a squared cosine. Nichol & Dhariwal 2021, arXiv:2102.09672.

    $$ \bar\alpha(t) = \cos^2\left(\frac{t + s}{1 + s} \cdot \frac{\pi}{2}\right), \qquad
       \beta_t = \min\left(0.999, \; 1 - \frac{\bar\alpha(t)}{\bar\alpha(t - 1/T)}\right) $$

    >>> [round(beta, 3) for beta in cosine_betas(4)]
    [0.153, 0.417, 0.708, 0.999]
    """

    def kept(time: float) -> float:
        return math.cos((time + offset) / (1 + offset) * math.pi / 2) ** 2

    return tuple(min(_MOST, 1 - kept((i + 1) / steps) / kept(i / steps)) for i in range(steps))


def schedule(name: Schedule, steps: int = 1000) -> Process:
    """A process by its name, of so many `steps` where it is a chain.

    Of a chain that is shorter or longer than 1,000 steps, the linear schedule grows so much faster or slower.
    """
    if name == "linear":
        return Chain(tuple(min(_MOST, beta) for beta in linear_betas(steps, 0.1 / steps, 20 / steps)))
    if name == "cosine":
        return Chain(cosine_betas(steps))
    paths: dict[str, Process] = {"vp": VP(), "ve": VE(), "flow": Flow()}
    return paths[name]
