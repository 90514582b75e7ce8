"""The passes of linear attention on a GPU, as operators that torch knows: compiled, exported and differentiated."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from gradlab.kernels import compile_for
from gradlab.kernels.launching import Kernel
from gradlab.kernels.linear_attention_chunks import State
from gradlab.kernels.linear_attention_sizes import SCANNED, Sizes, sizes_of

_LOWEST = -1e30  # the top before any key: not -∞, since -∞ - -∞ is no number


@cache
def _kernels() -> SimpleNamespace:
    """Those of Triton, which is loaded when the first is wanted."""
    from gradlab.kernels import linear_attention_triton as triton

    names = ("scales", "running_maximum", "sums", "scan_sums", "outputs", "gradients")
    return SimpleNamespace(**{name: Kernel(getattr(triton, name)) for name in names})


def _like(x: Tensor, width: int) -> Tensor:
    """Room for rows of a width, with heads and rows in the same order in memory as those of x."""
    batch, heads, rows, _ = x.shape
    if x.stride(1) < x.stride(2):
        return x.new_empty(batch, rows, heads, width).transpose(1, 2)
    return x.new_empty(batch, heads, rows, width)


def _lowest(start_top: Tensor | None, sizes: Sizes, texts: int, device: torch.device) -> Tensor | None:
    """The top before the first key of each text, where there are tops."""
    if not sizes.scaled or start_top is not None:
        return start_top
    return torch.full((texts, sizes.heads), _LOWEST, device=device)


def _strides(*tensors: Tensor) -> list[int]:
    return [stride for x in tensors for stride in x.stride()[-4:-1]]


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    omega: Tensor | None,
    mask: Tensor | None,
    start: Tensor | None,
    start_top: Tensor | None,
    feature_map: str,
    causal: bool,
    ends: bool,
    lengths: Sequence[int] | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Outputs; divisors; sums before each chunk and each segment; scales of queries and keys; tops; sums of all keys.

    What is not asked for, or does not exist, is empty. Only causal attention has sums before, and may begin with those
    of a `start`.
    """
    kernels = _kernels()
    out, divisor, local, before, q_scale, scale, top, end = room = _room(
        q, k, v, omega, feature_map, causal, ends, lengths
    )
    sizes = sizes_of(q, k, v, omega, feature_map, lengths)
    (batch, heads, n, _), m = q.shape, k.shape[2]
    texts, packed, ends = sizes.texts(batch), lengths is not None, ends or not causal
    places, edges = sizes.tables(q.device) if packed else (None, None)
    lowest = _lowest(start_top, sizes, texts, q.device)
    kind = {"causal": causal, "masked": mask is not None}
    if sizes.scaled:
        for x, x_mask, scales in ((q, None, q_scale), (k, mask, scale)):
            kernels.scales(
                (-(-x.shape[2] // sizes.chunk), batch * heads, 1),
                x, omega, x_mask, scales, *_strides(x), heads, x.shape[2],
                constants=sizes.scaling(masked=x_mask is not None),
            )  # fmt: skip
        kernels.running_maximum((texts, heads, 1), scale, lowest, top, edges, m, heads, constants=sizes.running())
    segments = sizes.all_segments(batch, m)
    sums = q.new_empty(segments, heads, sizes.width, dtype=torch.float32)
    kernels.sums(
        (heads, segments, sizes.blocks),
        k, v, v, divisor, omega, mask, scale, top, lowest, places, local, sums, divisor, *_strides(k, v, v),
        heads, m, sizes.segments(m), constants=sizes.constants(**kind, BACKWARD=False),
    )  # fmt: skip
    kernels.scan_sums(
        (texts, heads, -(-sizes.width // SCANNED)),
        sums, before if causal else sums, start, end, top, lowest, edges, sizes.width, heads, m, sizes.segments(m),
        constants=sizes.scanning(causal=causal, REVERSE=False, STARTS=start is not None, ENDS=ends),
    )  # fmt: skip
    kernels.outputs(
        (heads, sizes.all_segments(batch, n) * sizes.chunks, 1),
        q, k, v, omega, mask, q_scale, scale, top, lowest, places, local, before if causal else end, out, divisor,
        *_strides(q, k, v, out), heads, n, sizes.segments(n), constants=sizes.constants(**kind),
    )  # fmt: skip
    return room


_attend_op = torch.library.custom_op("gradlab::linear_attention", _attend, mutates_args=())


@_attend_op.register_fake
def _(*arguments: Any) -> tuple[Tensor, ...]:
    return _room(*arguments[:4], *arguments[7:])


def _room(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    omega: Tensor | None,
    feature_map: str,
    causal: bool,
    ends: bool,
    lengths: Sequence[int] | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The tensors that `attend` gives, not yet written."""
    sizes = sizes_of(q, k, v, omega, feature_map, lengths)
    batch, heads, n, m = *q.shape[:3], k.shape[2]
    segments = sizes.all_segments(batch, m)

    def room(*shape: int, there: bool = True, dtype: torch.dtype = torch.float32) -> Tensor:
        return q.new_empty(shape if there else (0,), dtype=dtype)

    return (
        _like(q, sizes.values),
        room(batch, heads, n),
        room(segments * sizes.chunks, heads, sizes.width, there=causal, dtype=sizes.kept),
        room(segments, heads, sizes.width, there=causal, dtype=sizes.kept),
        room(batch, heads, n, there=sizes.scaled),
        room(batch, heads, m, there=sizes.scaled),
        room(batch, heads, m, there=sizes.scaled),
        room(sizes.texts(batch), heads, sizes.width, there=ends or not causal),
    )


def _gradients(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    omega: Tensor | None,
    mask: Tensor | None,
    start_top: Tensor | None,
    out: Tensor,
    divisor: Tensor,
    local: Tensor,
    before: Tensor,
    q_scale: Tensor,
    scale: Tensor,
    top: Tensor,
    end: Tensor,
    feature_map: str,
    causal: bool,
    lengths: Sequence[int] | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of queries, keys and values."""
    kernels = _kernels()
    sizes = sizes_of(q, k, v, omega, feature_map, lengths)
    (batch, heads, n, _), m = q.shape, k.shape[2]
    texts, packed = sizes.texts(batch), lengths is not None
    places, edges = sizes.tables(q.device) if packed else (None, None)
    lowest = _lowest(start_top, sizes, texts, q.device)
    kind = {"causal": causal, "masked": mask is not None}
    grad = grad if grad.stride(-1) == 1 else grad.contiguous()
    dq, dk, dv = _like(q, sizes.inputs), _like(k, sizes.inputs), _like(v, sizes.values)
    segments = sizes.all_segments(batch, n)
    sums = q.new_empty(segments, heads, sizes.width, dtype=torch.float32)
    back, behind, to_divisor = torch.empty_like(local), torch.empty_like(before), torch.empty_like(divisor)
    every = q.new_empty(texts, heads, sizes.width, dtype=torch.float32)  # of all queries, where it is not causal
    kernels.sums(
        (heads, segments, sizes.blocks),
        q, grad, out, divisor, omega, mask, q_scale, top, lowest, places, back, sums, to_divisor,
        *_strides(q, grad, out), heads, n, sizes.segments(n), constants=sizes.constants(**kind, BACKWARD=True),
    )  # fmt: skip
    kernels.scan_sums(
        (texts, heads, -(-sizes.width // SCANNED)),
        sums, behind if causal else sums, None, every, top, lowest, edges, sizes.width, heads, n, sizes.segments(n),
        constants=sizes.scanning(causal=causal, REVERSE=True, STARTS=False, ENDS=not causal),
    )  # fmt: skip
    query_chunks, key_chunks = (sizes.all_segments(batch, length) * sizes.chunks for length in (n, m))
    kernels.gradients(
        (2 * heads, max(query_chunks, key_chunks), 1),
        q, k, v, grad, divisor, to_divisor, omega, mask, q_scale, scale, top, lowest, places,
        local, before if causal else end, back, behind if causal else every, dq, dk, dv,
        *_strides(q, k, v, grad, dq, dk, dv),
        heads, n, sizes.segments(n), query_chunks, m, sizes.segments(m), key_chunks,
        constants=sizes.constants(**kind, limited=sizes.small),
    )  # fmt: skip
    return dq, dk, dv


_gradients_op = torch.library.custom_op("gradlab::linear_attention_backward", _gradients, mutates_args=())


@_gradients_op.register_fake
def _(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    return _like(q, q.shape[-1]), _like(k, k.shape[-1]), _like(v, v.shape[-1])


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    q, k, v, omega, mask, _, start_top, *settings = inputs
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)  # else zeros are written for each of them
    ctx.save_for_backward(q, k, v, omega, mask, start_top, *output)
    ctx.feature_map, ctx.causal, _, ctx.lengths = settings


def _backward(ctx: Any, grad: Tensor, *others: Tensor) -> tuple[Tensor | None, ...]:
    saved, settings = ctx.saved_tensors, (ctx.feature_map, ctx.causal, ctx.lengths)
    arguments: tuple[Any, ...] = (grad, *saved, *settings)
    if torch.compiler.is_compiling():
        return *_gradients_op(*arguments), *[None] * 8
    _compile(_gradients, saved[:5], settings, *arguments)
    return *_gradients(*arguments), *[None] * 8


_compiled: set[Any] = set()


def _compile(function: Callable[..., Any], inputs: Sequence[Any], settings: Sequence[Any], *arguments: Any) -> None:
    """All kernels of a kind of call side by side, before the first: else each would be when it is wanted."""
    q, k, v, omega, *more = inputs
    if not q.is_cuda or torch.cuda.is_current_stream_capturing():
        return
    feature_map, *flags, lengths = settings
    sizes = sizes_of(q, k, v, omega, feature_map, lengths)
    kind = function, q.device, sizes, *flags, *(one is None for one in more)
    if kind not in _compiled:
        _compiled.add(kind)
        compile_for(lambda: function(*arguments), q.device)


_attend_op.register_autograd(_backward, setup_context=_save)


class _Attend(torch.autograd.Function):
    """The operator without torch's dispatcher, which takes longer than the kernels of a short text."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, ...]:
        _compile(_attend, arguments[:6], arguments[7:], *arguments)
        results = _attend(*arguments)
        _save(ctx, arguments, results)
        return results

    backward = staticmethod(_backward)


def attend(*arguments: Any) -> tuple[Tensor, ...]:
    """Outputs and what `_attend` gives beside them."""
    results: tuple[Tensor, ...] = _attend_op(*arguments) if torch.compiler.is_compiling() else _Attend.apply(*arguments)  # type: ignore[no-untyped-call]
    return results


def linear_attention_on_gpu(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    feature_map: str,
    omega: Tensor | None,
    is_causal: bool,
    lengths: Sequence[int] | None,
    state: State | None,
) -> tuple[Tensor, State | None]:
    """`linear_attention` by kernels."""
    batch = q.shape[:-2]
    q, k, v = (_four(x) for x in (q, k, v))
    if omega is not None:
        omega = omega.float() * q.shape[-1] ** -0.25
    if mask is not None:
        mask = mask.expand(len(q), k.shape[2]).contiguous().view(torch.uint8)
    start = start_top = None
    constant = 0.0 if omega is None else math.log(len(omega)) / 2  # which kernels leave out of logarithms
    if state is not None:
        start, start_top = _start(state, scaled=omega is not None, heads=q.shape[1])
        start_top = start_top + constant
    ends = is_causal and not (torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)))
    out, _, _, _, _, _, top, end = attend(q, k, v, omega, mask, start, start_top, feature_map, is_causal, ends, lengths)
    out = out.reshape(*batch, *out.shape[-2:])
    return out, _state(end, top, lengths, v.shape[-1], batch, constant) if ends else None


def _four(x: Tensor) -> Tensor:
    """(batch, heads, rows, columns), each row in one piece."""
    x = x.reshape(-1, *x.shape[-3:]) if x.ndim > 3 else x.reshape(-1, 1, *x.shape[-2:])
    return x if x.stride(-1) == 1 else x.contiguous()


def _start(state: State, *, scaled: bool, heads: int) -> tuple[Tensor, Tensor]:
    """Sums and tops as the kernels have them; those of features without scales are in units of 1."""
    total, weight, top = state
    if not scaled:
        total, weight, top = total * torch.exp(top)[..., None, None], weight * torch.exp(top)[..., None], top * 0
    sums = torch.cat([total.flatten(-2), weight], -1).float()
    return sums.reshape(-1, heads, sums.shape[-1]).contiguous(), top.float().reshape(-1, heads).contiguous()


def _state(
    end: Tensor, top: Tensor, lengths: Sequence[int] | None, values: int, batch: Sequence[int], constant: float
) -> State:
    features = end.shape[-1] // (values + 1)
    total, weight = end[..., : features * values], end[..., features * values :]
    front = batch if lengths is None else end.shape[:2]
    if not top.numel():
        tops = end.new_zeros(front)
    elif lengths is None:
        tops = top[..., -1].reshape(front) - constant
    else:
        last = torch.tensor(lengths, device=top.device).cumsum(0) - 1
        tops = top[0].index_select(-1, last).T - constant
    return State(total.reshape(*front, features, values), weight.reshape(*front, features), tops)
