"""The step of decoding: a layer's forward pass for the next positions of texts, each block's own, with little more than
its tensor operations.

A sum is left open from one part to the next: each takes the stream x and what is still to be added to it, since one
kernel can add, normalise and go on.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Int64
from torch import Tensor, nn

from gradlab import kernels
from gradlab.nn.activations import GELU
from gradlab.nn.normalisation import LayerNorm, RMSNorm
from gradlab.nn.plain import bare

if TYPE_CHECKING:
    from gradlab.kernels.add_norm import Bend, Kind

_FEW = 4
"""Rows up to which each reads the weights for itself, without products of matrices."""


def by_kernels(weight: Tensor) -> bool:
    """Whether the kernels of decoding serve this weight: they compute in float32."""
    return weight.dtype in (torch.float32, torch.float16, torch.bfloat16) and kernels.run_on(weight.device)


class At(NamedTuple):
    """Where the new positions of each text stand, kept on the device: the host replays the same step each time."""

    place: Int64[Tensor, " new"]
    """How many positions there are before each of them: one, or a few next to each other."""

    owners: Int64[Tensor, "rows room"] | None = None
    """In whose room the keys of each row lie, where hypotheses share them."""


Step: TypeAlias = Callable[[Tensor, Tensor | None, At | None], tuple[Tensor, Tensor | None]]
"""A part of a model: from the stream and what is to be added to it, to both after it."""
Begin: TypeAlias = Callable[[Tensor, Tensor | None, At | None], tuple[Tensor, Tensor]]


def added(x: Tensor, delta: Tensor | None) -> Tensor:
    """x + delta, into the memory of delta, which nobody else has."""
    return x if delta is None else delta.add_(x)


def normed_affine(norm: nn.Module, weight: Tensor, bias: Tensor | None, activation: nn.Module | None = None) -> Begin:
    """x + delta, and σ(W norm(x + delta) + b), which is how each part of a layer begins."""
    normalise, bend = bare(norm), None if activation is None else bare(activation)

    def plain(x: Tensor, delta: Tensor | None, at: At | None) -> tuple[Tensor, Tensor]:
        if delta is not None:
            x = delta.add_(x)
        y = F.linear(normalise(x), weight, bias)
        return x, y if bend is None else bend(y)

    kind = _kind(norm) if by_kernels(weight) else None
    if kind is None:
        return plain
    known = _bend(activation)

    def fused(x: Tensor, delta: Tensor | None, at: At | None) -> tuple[Tensor, Tensor]:
        if at is None:
            return plain(x, delta, at)
        total, y, bent = _by_kernels(x, delta, kind, weight, bias, known)
        return total, y if bend is None or (bent and known != "none") else bend(y)

    return fused


def normed(norm: nn.Module) -> Callable[[Tensor, Tensor | None, At | None], Tensor]:
    """norm(x + delta), which is how a stack of layers ends."""
    normalise = bare(norm)
    by_kernel = by_kernels(weight) if isinstance(weight := getattr(norm, "weight", None), Tensor) else False
    kind = _kind(norm) if by_kernel else None

    def end(x: Tensor, delta: Tensor | None, at: At | None) -> Tensor:
        if at is None or delta is None or kind is None:
            return normalise(added(x, delta))
        from gradlab.kernels.add_norm import add_norm

        rows = x.flatten(0, -2)
        return add_norm(rows, delta.reshape(rows.shape), *kind)[1].view_as(x)

    return end


def affine(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor, At | None], Tensor]:
    """W x + b, which is how each part of a layer ends."""
    if not by_kernels(weight):
        return lambda x, at: F.linear(x, weight, bias)

    def fused(x: Tensor, at: At | None) -> Tensor:
        if at is None:
            return F.linear(x, weight, bias)
        return _product(x.reshape(-1, x.shape[-1]), weight, bias).view(*x.shape[:-1], -1)

    return fused


def _by_kernels(
    x: Tensor, delta: Tensor | None, kind: "Kind", weight: Tensor, bias: Tensor | None, bend: "Bend"
) -> tuple[Tensor, Tensor, bool]:
    """x + delta, what follows from it, and whether that is bent already."""
    from gradlab.kernels.add_norm import add_norm, add_norm_affine

    rows = x.flatten(0, -2)
    # Zeros, since a kernel without this argument would be another one to compile.
    delta = torch.zeros_like(rows) if delta is None else delta.reshape(rows.shape)
    bent = True
    if len(rows) <= _FEW:
        total, y = add_norm_affine(rows, delta, *kind, weight, bias, bend)
    else:
        total, y = add_norm(rows, delta, *kind)
        bent = _by_product(rows, weight)
        y = _product(y, weight, bias, bend if bent else "none")
    return total.view_as(x), y.view(*x.shape[:-1], -1), bent


def _product(x: Tensor, weight: Tensor, bias: Tensor | None, bend: "Bend" = "none") -> Tensor:
    """σ(W x + b) by what reads the weights of so many rows fastest."""
    from gradlab.kernels.add_norm import affine
    from gradlab.kernels.product import LARGEST, product

    if bend == "none" and len(x) <= (_FEW if len(weight) <= LARGEST else 1):
        return affine(x, weight, bias)
    return product(x, weight, bias, bend) if _by_product(x, weight) else F.linear(x, weight, bias)


def _by_product(x: Tensor, weight: Tensor) -> bool:
    """Whether our product of matrices is for this: not for float32, which the device multiplies without its products
    of matrices, and not for a vocabulary, of which a library reads the weights once."""
    from gradlab.kernels.product import LARGEST, MOST

    return weight.element_size() == 2 and len(x) <= MOST and len(weight) <= LARGEST


def _kind(norm: nn.Module) -> "Kind | None":
    """The normalisation as kernels know it."""
    from gradlab.kernels.add_norm import WIDEST

    if not isinstance(norm, LayerNorm | RMSNorm) or len(norm.normalized_shape) > 1 or norm.features > WIDEST:
        return None
    if isinstance(norm, LayerNorm):
        return "layer", norm.weight, norm.bias, norm.eps
    return "rms", norm.weight, None, torch.finfo(torch.float32).eps if norm.eps is None else norm.eps


def _bend(activation: nn.Module | None) -> "Bend":
    if not isinstance(activation, GELU):
        return "none"
    return "gelu_tanh" if activation.approximate == "tanh" else "gelu"
