"""A layer of a transformer in training with its own backward pass, so that nothing between products is passed twice."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from gradlab.kernels import compile_for, run_on
from gradlab.nn.activations import GELU
from gradlab.nn.attention import MultiheadAttention
from gradlab.nn.normalisation import LayerNorm
from gradlab.nn.plain import is_plain
from gradlab.nn.products import wide_product
from gradlab.nn.transformer import MLP, DecoderLayer, EncoderLayer, Layer

_WIDEST = 4096  # features that a kernel normalises in registers


def can_fuse(layer: nn.Module, device: torch.device) -> bool:
    """Whether a layer is of the plain kind: normalised first by layer norms, a GELU, and nothing else that learns."""
    if type(layer) not in (DecoderLayer, EncoderLayer) or not is_plain(layer) or not run_on(device):
        return False
    assert isinstance(layer, Layer)
    attention, mlp, norms = layer.attention, layer.mlp, (layer.norm1, layer.norm2)
    return (
        layer.norm_first
        and not getattr(layer, "cross", False)
        and layer.embed_dim <= _WIDEST
        and all(type(norm) is LayerNorm and norm.weight is not None and norm.bias is not None for norm in norms)
        and type(mlp) is MLP
        and type(mlp.activation) is GELU
        and type(attention) is MultiheadAttention
        and attention.of_modules
        and attention.rows == (layer.embed_dim,) * 3
        and mlp.dropout.p == layer.dropout.p
        and len(list(attention.parameters())) in (2, 4)  # in and out, with or without biases
        and all(parameter.requires_grad and parameter.dtype == torch.float32 for parameter in layer.parameters())
    )


def fused(layer: Layer, otherwise: Callable[[Layer], Callable[..., Tensor]] | None = None) -> Callable[..., Tensor]:
    """What stands for the call of a layer in training, under autocast.

    Where there is more to a call, such as a mask, it is what `otherwise` makes of the layer, or its usual one.
    """
    parameters = parameters_of(layer)
    drops: list[Any] = [layer.dropout, layer.mlp.dropout]
    usual = cache(lambda: layer._call_impl if otherwise is None else otherwise(layer))

    def call(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        more = any(value is not None for value in (*args, *kwargs.values()))
        learns = torch.is_grad_enabled() and all(part.training for part in drops)
        kind = x.device.type
        if more or not learns or x.ndim != 3 or not torch.is_autocast_enabled(kind):
            return usual()(x, *args, **kwargs)
        dtype = torch.get_autocast_dtype(kind)
        _compile(x, layer, dtype, parameters)
        y: Tensor = _FusedLayer.apply(x, layer, dtype, *parameters)  # type: ignore[no-untyped-call]
        return y

    return call


def parameters_of(layer: Any) -> list[Tensor | None]:
    """Those of norms, weights, and biases where it has them."""
    attention, mlp = layer.attention, layer.mlp
    return [
        *(layer.norm1.weight, layer.norm1.bias, layer.norm2.weight, layer.norm2.bias),
        *(attention.in_proj_weight, attention.out_proj.weight, mlp.linear1.weight, mlp.linear2.weight),
        *(attention.in_proj_bias, attention.out_proj.bias, mlp.linear1.bias, mlp.linear2.bias),
    ]


_compiled: set[tuple[Any, ...]] = set()


def _compile(x: Tensor, layer: Layer, dtype: torch.dtype, parameters: Sequence[Any]) -> None:
    """All kernels side by side, which would else be compiled one after the other, when each is first wanted."""
    kind = (x.device, x.shape[-1], layer.mlp.hidden, dtype, layer.dropout.p > 0)
    if kind in _compiled or not x.is_cuda or torch.cuda.is_current_stream_capturing():
        return
    _compiled.add(kind)
    with torch.no_grad(), torch.random.fork_rng([x.device]):
        compile_for(lambda: both_passes(x, layer, dtype, parameters), x.device)


def both_passes(x: Tensor, layer: Layer, dtype: torch.dtype, parameters: Sequence[Any]) -> None:
    """One after the other in this thread, without a graph: for those who collect launches."""
    result, kept = _forward(x.detach(), layer, dtype, parameters)
    _backward(torch.zeros_like(result), *kept)


class _FusedLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, layer: Any, dtype: torch.dtype, *parameters: Any) -> Tensor:
        result, ctx.kept = _forward(x, layer, dtype, parameters)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, later: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.kept is None:  # let go of layer by layer, since it is most of a training's memory
            raise RuntimeError("A fused layer can be differentiated once.")
        kept, ctx.kept = ctx.kept, None
        dx, gradients = _backward(later, *kept)
        return dx, None, None, *gradients


def _forward(x: Tensor, layer: Any, dtype: torch.dtype, parameters: Sequence[Any]) -> tuple[Tensor, tuple[Any, ...]]:
    """The layer's outputs, and what `_backward` needs beside their gradient."""
    from gradlab.kernels.layer import LayerKernels

    attention, approximate, (batch, length, dim) = layer.attention, layer.mlp.activation.approximate, x.shape
    gain1, shift1, gain2, shift2, *others = parameters
    w_in, w_out, w1, w2, b_in, b_out, b1, b2 = narrow = _cast(others, dtype)
    kernels = LayerKernels(batch * length, layer.dropout.p, torch.randint(2**62, (3,), device=x.device))
    x = x.float().reshape(-1, dim)
    _, y1, *moments1 = kernels.add_norm(x, None, gain1, shift1, layer.norm1.eps, 0, dtype)
    heads = F.linear(y1, w_in, b_in).view(batch, length, 3, attention.num_heads, -1)
    q, k, v = (one.detach().requires_grad_() for one in heads.permute(2, 0, 3, 1, 4))
    with torch.enable_grad():  # attention has a backward pass of its own
        pooled = attention.pooled(q, k, v, is_causal=isinstance(layer, DecoderLayer))
    o = pooled.detach().transpose(1, 2).reshape(-1, dim)
    delta = F.linear(o, w_out, b_out)
    s, y2, *moments2 = kernels.add_norm(x, delta, gain2, shift2, layer.norm2.eps, 0, dtype)
    h = F.linear(y2, w1, b1)
    a = kernels.bend(h, approximate, 1)
    result = kernels.add(s, F.linear(a, w2, b2), 2)
    norms = (x, gain1, *moments1), (s, gain2, *moments2)
    biases = [bias is not None for bias in narrow[4:]]
    return result.view(batch, length, dim), (
        kernels, approximate, norms, narrow[:4], biases, (pooled, q, k, v), (y1, o, y2, h, a),
    )  # fmt: skip


def _backward(
    later: Tensor,
    kernels: Any,
    approximate: str,
    norms: tuple[Any, Any],
    weights: Sequence[Tensor],
    biases: Sequence[bool],
    attention: tuple[Tensor, ...],
    between: tuple[Tensor, ...],
) -> tuple[Tensor, list[Tensor | None]]:
    """The gradients of the inputs, and of the parameters in the order in which they came."""
    (w_in, w_out, w1, w2), (pooled, *qkv), (y1, o, y2, h, a) = weights, attention, between
    (rows, dim), hidden = y1.shape, h.shape[1]
    # Programs add up: gain and shift of the second norm and the bias before it, those of the first, and biases.
    parts = kernels.parts(9 * dim + hidden)
    of_norm2, of_norm1, of_last, of_heads, of_hidden = parts.split([3 * dim, 2 * dim, dim, 3 * dim, hidden], 1)
    shape, later = later.shape, later.float().reshape(rows, dim).contiguous()
    ddelta = kernels.add_back(later, of_last, 2, y1.dtype)
    d_w2 = wide_product(ddelta.T, a, torch.float32)
    dh = kernels.bend_back(h, ddelta @ w2, approximate, of_hidden, 1)
    d_w1 = wide_product(dh.T, y2, torch.float32)
    ds, ddelta = kernels.add_norm_back(dh @ w1, later, norms[1], of_norm2, 0)
    d_out = wide_product(ddelta.T, o, torch.float32)
    dpooled = (ddelta @ w_out).view(pooled.transpose(1, 2).shape).transpose(1, 2)
    of_qkv = [one.transpose(1, 2).reshape(rows, dim) for one in torch.autograd.grad(pooled, qkv, dpooled)]
    dheads = kernels.beside(of_qkv, of_heads)
    d_in = wide_product(dheads.T, y1, torch.float32)
    dx, _ = kernels.add_norm_back(dheads @ w_in, ds, norms[0], of_norm1, 0, delta=False)
    d_gain2, d_shift2, d_out_bias, d_gain1, d_shift1, d_last, d_in_bias, d_hidden = parts.sum(0).split(
        [dim, dim, dim, dim, dim, dim, 3 * dim, hidden]
    )
    of_biases = zip((d_in_bias, d_out_bias, d_hidden, d_last), biases, strict=True)
    of_weights = [d_gain1, d_shift1, d_gain2, d_shift2, d_in, d_out, d_w1, d_w2]
    return dx.view(shape), [*of_weights, *(bias if there else None for bias, there in of_biases)]


def _cast(tensors: list[Tensor | None], dtype: torch.dtype) -> list[Any]:
    """All in one pass."""
    there = [tensor for tensor in tensors if tensor is not None]
    narrow = [torch.empty_like(tensor, dtype=dtype) for tensor in there]
    torch._foreach_copy_(narrow, there)
    rest = iter(narrow)
    return [None if tensor is None else next(rest) for tensor in tensors]
