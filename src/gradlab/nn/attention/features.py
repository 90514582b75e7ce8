"""Feature maps: vectors whose dot products are a kernel, exactly or on average, so that sums over keys come first."""

from abc import ABC, abstractmethod
from math import log, sqrt

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn.blocks import block
from gradlab.registry import Count, Positive


class PositiveMap(nn.Module, ABC):
    """A map to positive features, as logarithms: those of large inputs neither overflow nor vanish."""

    @abstractmethod
    def log(self, x: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch features"]:
        """log φ(x), in float32 or wider."""

    def forward(self, x: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch features"]:
        return self.log(x).exp().to(x.dtype)


@block("feature.elu", flops="O(n·d)", memory="O(n·d)")
class ELUFeatures(PositiveMap):
    r"""Each entry made positive: the features of the linear transformer.

    $$ \varphi(x)_i = \mathrm{elu}(x_i) + 1 = \begin{cases} x_i + 1 & x_i > 0 \\ e^{x_i} & x_i \le 0 \end{cases} $$

    Its kernel does not approximate the exponential one; it is another. It is not worked out as the formula is written,
    which rounds to 0 below -17 in float32. Katharopoulos et al. 2020, arXiv:2006.16236.

    >>> ELUFeatures()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3679, 1.0000, 3.0000])
    """

    def log(self, x: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
        x = _wide(x)
        # At 0 relu has the slope 0 and clamp 1, which together is that of elu.
        return torch.log1p(torch.relu(x)) + x.clamp(max=0)


class RandomFeatures(nn.Module):
    """What maps by random directions have in common: k = `num_features` of them, drawn anew by `redraw`.

    With `orthogonal`, those of a block of `dim` are at right angles, and as long as independent ones would be: each is
    still normal, but they miss less of the space, and the kernel is met more closely.
    """

    omega: Tensor

    def __init__(self, dim: Count, num_features: Count = 256, *, orthogonal: bool = False):
        super().__init__()
        self.dim, self.num_features, self.orthogonal = dim, num_features, orthogonal
        self.register_buffer("omega", torch.empty(num_features, dim))
        self.redraw()

    @torch.no_grad()
    def redraw(self, generator: torch.Generator | None = None) -> None:
        """New directions, from torch's own source of random numbers or from another."""
        if self.omega.is_meta:  # where there are no numbers, and drawing some would load the compiler
            return
        device = self.omega.device if generator is None else generator.device

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator, device=device)

        directions = normal(self.num_features, self.dim)
        if self.orthogonal:
            blocks = -(-self.num_features // self.dim)
            q, r = torch.linalg.qr(normal(blocks, self.dim, self.dim))
            q = q * r.diagonal(dim1=-2, dim2=-1).sign()[:, None]  # else the first entry of q is never positive
            directions = q.flatten(0, 1)[: self.num_features] * directions.norm(dim=1, keepdim=True)
        self.omega.copy_(directions)


@block("feature.positive", flops="2·n·d·k", memory="O(n·k)")
class PositiveFeatures(RandomFeatures, PositiveMap):
    r"""Random features whose dot product is the exponential kernel of attention on average: those of the Performer.

    $$ \varphi(x) = \frac{1}{\sqrt{k}} \, e^{-\lVert x \rVert^2 / 2} \left( e^{\omega_i^\top x} \right)_{i=1}^{k},
       \quad \omega_i \sim N(0, I), \qquad \mathbb{E} \, \varphi(x)^\top \varphi(y) = e^{x^\top y} $$

    One direction alone estimates the kernel with the variance exp(-‖x‖²-‖y‖²) (e²ˢ - eˢ), where s = ‖x + y‖²: long
    vectors need very many. All features are positive, as weights must be. Choromanski et al. 2020, arXiv:2009.14794.

    >>> features = PositiveFeatures(3, num_features=5)
    >>> bool((features(torch.randn(2, 3)) > 0).all())
    True
    """

    @property
    def out_features(self) -> int:
        return self.num_features

    def log(self, x: Float[Tensor, "*batch {self.dim}"]) -> Float[Tensor, "*batch {self.out_features}"]:
        x = _wide(x)
        return self._projections(x) - x.square().sum(-1, keepdim=True) / 2 - log(self.out_features) / 2

    def _projections(self, x: Tensor) -> Tensor:
        return x @ self.omega.to(x.dtype).T

    def forward(self, x: Float[Tensor, "*batch {self.dim}"]) -> Float[Tensor, "*batch {self.out_features}"]:
        return super().forward(x)


@block("feature.cosh", flops="2·n·d·k", memory="O(n·k)")
class CoshFeatures(PositiveFeatures):
    r"""Positive random features for each direction and its opposite, which varies less than twice as many directions.

    $$ \varphi(x) = \frac{1}{\sqrt{2k}} \, e^{-\lVert x \rVert^2 / 2}
       \left( e^{\omega_i^\top x}, e^{-\omega_i^\top x} \right)_{i=1}^{k}, \qquad
       \mathbb{E} \, \varphi(x)^\top \varphi(y) = e^{x^\top y} $$

    One direction alone estimates the kernel with the variance exp(-‖x‖²-‖y‖²) (½e²ˢ + ½ - eˢ), where s = ‖x + y‖²: less
    than half of that of `feature.positive`. There are 2 k features, those of one sign before those of the other.
    Choromanski et al. 2020, arXiv:2009.14794.

    >>> CoshFeatures(3, num_features=5)(torch.randn(2, 3)).shape
    torch.Size([2, 10])
    """

    @property
    def out_features(self) -> int:
        return 2 * self.num_features

    def _projections(self, x: Tensor) -> Tensor:
        up = super()._projections(x)
        return torch.cat([up, -up], -1)


@block("feature.fourier", flops="2·n·d·k", memory="O(n·k)")
class FourierFeatures(RandomFeatures):
    r"""Random waves whose dot product is the Gaussian kernel on average.

    $$ \varphi(x) = \frac{1}{\sqrt{k}}
       \left( \cos \sqrt{2 \gamma} \, \omega_i^\top x, \; \sin \sqrt{2 \gamma} \, \omega_i^\top x \right)_{i=1}^{k},
       \qquad \mathbb{E} \, \varphi(x)^\top \varphi(y) = e^{-\gamma \lVert x - y \rVert^2} $$

    There are 2 k features, all cosines before all sines, and their length is exactly 1. They may be negative: a kernel
    machine does not mind, attention would. Rahimi & Recht 2007, Random features for large-scale kernel machines.

    >>> FourierFeatures(3, num_features=5)(torch.randn(2, 3)).norm(dim=-1)
    tensor([1.0000, 1.0000])
    """

    def __init__(self, dim: Count, num_features: Count = 256, gamma: Positive = 1.0, *, orthogonal: bool = False):
        super().__init__(dim, num_features, orthogonal=orthogonal)
        self.gamma = gamma
        self.out_features = 2 * num_features

    def forward(self, x: Float[Tensor, "*batch {self.dim}"]) -> Float[Tensor, "*batch {self.out_features}"]:
        wide = _wide(x)
        angles = sqrt(2 * self.gamma) * wide @ self.omega.to(wide.dtype).T
        return (torch.cat([angles.cos(), angles.sin()], -1) / sqrt(self.num_features)).to(x.dtype)


def _wide(x: Tensor) -> Tensor:
    """In float32 or wider: an exponent in bf16 would be off by a tenth."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
