"""The step of decoding: a layer's forward pass for the next positions of texts, each block's own, with little more than
its tensor operations.

A sum is left open from one part to the next: each takes the stream x and what is still to be added to it, since one
kernel can add, normalise and go on.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from jaxtyping import Int64
from torch import Tensor, nn

from gradlab import kernels
from gradlab.nn.activations import GELU
from gradlab.nn.normalisation import LayerNorm, RMSNorm
from gradlab.nn.plain import bare

if TYPE_CHECKING:
    from gradlab.kernels.add_norm import Bend, Norm

_FEW = 4
"""Rows up to which a product is a matter of reading the weights, for which our kernel launches less than a library."""


def by_kernels(weight: Tensor) -> bool:
    """Whether the kernels of decoding serve this weight: they compute in float32."""
    return weight.dtype in (torch.float32, torch.float16, torch.bfloat16) and kernels.run_on(weight.device)


class At(NamedTuple):
    """Where one new position of each text stands, told on the device: the host replays the same step for each."""

    place: Int64[Tensor, "1"]
    """How many positions there are before it."""

    owners: Int64[Tensor, "rows room"] | None = None
    """In whose room the keys of each row lie, where hypotheses share them."""


class Step(Protocol):
    """A part of a model: the stream and what is to be added to it, before and after."""

    def __call__(self, x: Tensor, delta: Tensor | None, at: At | None) -> tuple[Tensor, Tensor | None]: ...


def added(x: Tensor, delta: Tensor | None) -> Tensor:
    """x + delta, into the memory of delta, which nobody else has."""
    return x if delta is None else delta.add_(x)


class NormedAffine:
    """x + delta, and σ(W norm(x + delta) + b), which is how each part of a layer begins."""

    def __init__(self, norm: nn.Module, weight: Tensor, bias: Tensor | None, activation: nn.Module | None = None):
        self.weight, self.bias = weight, bias
        self.norm, self.bend = bare(norm), None if activation is None else bare(activation)
        self._fused = self._kinds(norm, activation) if by_kernels(weight) else None

    def __call__(self, x: Tensor, delta: Tensor | None, at: At | None) -> tuple[Tensor, Tensor]:
        if at is not None and self._fused is not None:
            return self._by_kernel(x, delta, *self._fused)
        x = added(x, delta)
        y = F.linear(self.norm(x), self.weight, self.bias)
        return x, y if self.bend is None else self.bend(y)

    def _kinds(
        self, norm: nn.Module, activation: nn.Module | None
    ) -> "tuple[tuple[Norm, Tensor | None, Tensor | None, float], Bend] | None":
        """The normalisation and the bend as kernels know them."""
        from gradlab.kernels.add_norm import WIDEST

        if not isinstance(norm, LayerNorm | RMSNorm) or len(norm.normalized_shape) > 1 or self.weight.shape[1] > WIDEST:
            return None
        bend: Bend = "none"
        if isinstance(activation, GELU):
            bend = "gelu_tanh" if activation.approximate == "tanh" else "gelu"
        if isinstance(norm, LayerNorm):
            return ("layer", norm.weight, norm.bias, norm.eps), bend
        eps = torch.finfo(torch.float32).eps if norm.eps is None else norm.eps
        return ("rms", norm.weight, None, eps), bend

    def _by_kernel(
        self,
        x: Tensor,
        delta: Tensor | None,
        norm: "tuple[Norm, Tensor | None, Tensor | None, float]",
        bend: "Bend",
    ) -> tuple[Tensor, Tensor]:
        from gradlab.kernels.add_norm import add_norm, add_norm_affine

        rows = x.flatten(0, -2)
        # Zeros, since a kernel without this argument would be another one to compile.
        delta = torch.zeros_like(rows) if delta is None else delta.reshape(rows.shape)
        if len(rows) <= _FEW:
            total, y = add_norm_affine(rows, delta, *norm, self.weight, self.bias, bend)
        else:
            total, y = add_norm(rows, delta, *norm)
            # One kernel for product, bias and GELU; its tanh is of 16 bits.
            if bend == "gelu_tanh" and self.bias is not None and x.is_cuda and x.element_size() == 2:
                y = torch._addmm_activation(self.bias, y, self.weight.t(), use_gelu=True)
            else:
                y, bend = F.linear(y, self.weight, self.bias), "none"
        if self.bend is not None and bend == "none":
            y = self.bend(y)
        return total.view_as(x), y.view(*x.shape[:-1], -1)


def affine(module: nn.Linear) -> Callable[[Tensor, At | None], Tensor]:
    """W x + b, which is how each part of a layer ends."""
    weight, bias = module.weight, module.bias
    by_kernel = by_kernels(weight)

    def apply(x: Tensor, at: At | None) -> Tensor:
        if at is not None and by_kernel and x.numel() <= _FEW * x.shape[-1]:
            from gradlab.kernels.add_norm import affine

            return affine(x.reshape(-1, x.shape[-1]), weight, bias).view(*x.shape[:-1], -1)
        return F.linear(x, weight, bias)

    return apply
