"""The passes of linear attention on a GPU, as operators that torch knows: compiled, exported and differentiated."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from gradlab.kernels.launching import Constants, Kernel
from gradlab.kernels.linear_attention_chunks import State

_PROGRAMS = 512  # about four for each part of a large GPU, so that none is idle for long
_THIRD = 168  # of the registers of a multiprocessor, for each of 128 threads
_LEAST = torch.finfo(torch.float32).tiny ** 0.75  # its inverse, a factor of the derivative, is still a number
_LOWEST = -1e30  # the top before any key: not -∞, since -∞ - -∞ is no number


@cache
def _kernels() -> SimpleNamespace:
    """Those of Triton, which is loaded when the first is wanted."""
    from gradlab.kernels import linear_attention_triton as triton

    names = ("scales", "running_maximum", "sums", "scan_sums", "outputs", "gradients")
    return SimpleNamespace(**{name: Kernel(getattr(triton, name)) for name in names})


@dataclass(frozen=True)
class _Sizes:
    """What the kernels are compiled for, and how the work is cut. All of it follows from the shapes."""

    feature_map: str
    heads: int
    inputs: int
    features: int
    values: int
    precision: str
    lengths: tuple[int, ...] | None
    rows: int  # of queries or keys, with those of all texts and heads, by which segments are chosen
    longest: int  # rows of a text

    @property
    def bf16(self) -> bool:
        return self.precision.startswith("bf16")

    @cached_property
    def feature_block(self) -> int:
        """As many features as fit into the registers of a program, with a row of sums for each."""
        return min(_power(self.features), 64 if self.bf16 or self.padded_values <= 128 else 32)

    @cached_property
    def padded_inputs(self) -> int:
        return _power(self.inputs)

    @cached_property
    def padded_values(self) -> int:
        return _power(self.values)

    @cached_property
    def blocks(self) -> int:
        return -(-self.features // self.feature_block)

    @cached_property
    def width(self) -> int:
        """Numbers of S and z."""
        return self.features * (self.values + 1)

    @cached_property
    def chunk(self) -> int:
        return 32 if max(self.padded_values, self.padded_inputs) > 128 else 64

    @cached_property
    def segment(self) -> int:
        """Rows of a segment: as many as leave enough of them to fill the chip, and no more than a text has."""
        wanted = max(1, min(self.rows // _PROGRAMS, self.longest))
        return min(2048, max(2 * self.chunk, 1 << (wanted.bit_length() - 1)))

    @cached_property
    def small(self) -> bool:
        """Whether three programs fit beside each other, if each has a third of the registers."""
        return self.bf16 and self.feature_map != "exp" and max(self.padded_inputs, self.padded_values) <= 64

    @lru_cache(maxsize=256)  # noqa: B019  (as long as the process: there are as many as kinds of calls)
    def constants(self, *, full: bool, causal: bool, masked: bool, limited: bool = False, **flags: bool) -> Constants:
        """What the kernels are compiled for."""
        return Constants(
            D=self.inputs,
            DP=self.padded_inputs,
            F=self.features,
            BF=self.feature_block,
            E=self.values,
            EP=self.padded_values,
            C=self.chunk,
            SEGMENT=self.segment,
            MAP=self.feature_map,
            SCALED=self.scaled,
            MASKED=masked,
            FULL=full,
            CAUSAL=causal,
            PACKED=self.lengths is not None,
            PRECISION=self.precision,
            LEAST=_LEAST,
            **flags,
            num_warps=4 if self.bf16 and self.padded_values <= 128 else 8,
            num_stages=2 if self.bf16 else 1,
            **({"maxnreg": _THIRD} if limited else {}),
        )

    @lru_cache(maxsize=256)  # noqa: B019
    def scanning(self, *, causal: bool, **flags: bool) -> Constants:
        return Constants(
            B=256,
            T=16,
            SEGMENT=self.segment,
            SCALED=self.scaled and causal,  # else all are in units of the same top
            PACKED=self.lengths is not None,
            **flags,
        )

    @lru_cache(maxsize=256)  # noqa: B019
    def scaling(self, *, masked: bool) -> Constants:
        names = ("D", "DP", "F", "BF", "C", "PRECISION")
        known = self.constants(full=False, causal=False, masked=False)
        return Constants({name: known[name] for name in names}, MASKED=masked)

    @lru_cache(maxsize=256)  # noqa: B019
    def running(self) -> Constants:
        return Constants(B=1024, PACKED=self.lengths is not None)

    @cached_property
    def scaled(self) -> bool:
        return self.feature_map == "exp"

    def segments(self, length: int) -> int:
        """Of one text."""
        return -(-length // self.segment)

    def all_segments(self, batch: int, length: int) -> int:
        return batch * self.segments(length) if self.lengths is None else sum(map(self.segments, self.lengths))

    @cached_property
    def kept(self) -> torch.dtype:
        """Of sums that are read by products of matrices."""
        return torch.bfloat16 if self.bf16 else torch.float32

    @cached_property
    def chunks(self) -> int:
        """Of a segment."""
        return self.segment // self.chunk

    def texts(self, batch: int) -> int:
        return batch if self.lengths is None else len(self.lengths)

    def tables(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Where packed segments lie, and where the segments and rows of each text begin."""
        return _tables(self.lengths, self.segment, device)


def _power(size: int) -> int:
    return max(16, 1 << (size - 1).bit_length())  # a product of matrices has at least 16 rows and columns


@lru_cache(maxsize=64)
def _tables(lengths: tuple[int, ...] | None, segment: int, device: torch.device) -> tuple[Tensor, Tensor]:
    places: list[tuple[int, ...]] = []
    texts: list[tuple[int, int]] = []
    begin = 0
    for text, length in enumerate(lengths or ()):
        texts.append((len(places), begin))
        end = begin + length
        places += [(text, start, min(start + segment, end), begin, end) for start in range(begin, end, segment)]
        begin += length
    texts.append((len(places), begin))
    return torch.tensor(places, dtype=torch.int32, device=device), torch.tensor(texts, dtype=torch.int32, device=device)


def _sizes(q: Tensor, v: Tensor, omega: Tensor | None, feature_map: str, lengths: Sequence[int] | None) -> _Sizes:
    features = None if omega is None else len(omega)
    return _sizes_of(q.shape, v.shape, q.dtype, features, feature_map, None if lengths is None else tuple(lengths))


@lru_cache(maxsize=256)
def _sizes_of(
    q: tuple[int, ...],
    v: tuple[int, ...],
    dtype: torch.dtype,
    features: int | None,
    feature_map: str,
    lengths: tuple[int, ...] | None,
) -> _Sizes:
    precision = {torch.bfloat16: "bf16", torch.float16: "tf32", torch.float32: "tf32x3"}[dtype]
    if precision == "bf16" and os.environ.get("TRITON_INTERPRET") == "1":
        precision = "bf16 as float32"
    return _Sizes(
        feature_map=feature_map,
        heads=q[1],
        inputs=q[-1],
        features=features or q[-1],
        values=v[-1],
        precision=precision,
        lengths=lengths,
        rows=q[0] * q[1] * max(q[2], v[2]),
        longest=max(q[2], v[2]),
    )


def _like(x: Tensor, width: int) -> Tensor:
    """Room for rows of a width, with heads and rows in the same order in memory as those of x."""
    batch, heads, rows, _ = x.shape
    if x.stride(1) < x.stride(2):
        return x.new_empty(batch, rows, heads, width).transpose(1, 2)
    return x.new_empty(batch, heads, rows, width)


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
    sizes = _sizes(q, v, omega, feature_map, lengths)
    (batch, heads, n, _), m = q.shape, k.shape[2]
    texts, packed, ends = sizes.texts(batch), lengths is not None, ends or not causal
    places, edges = sizes.tables(q.device) if packed else (None, None)
    lowest = torch.full((texts, heads), _LOWEST, device=q.device) if start_top is None else start_top
    kind = {"full": math.gcd(n, m) % sizes.segment == 0 and not packed, "causal": causal, "masked": mask is not None}
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
        (texts, heads, -(-sizes.width // 256)),
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
    sizes = _sizes(q, v, omega, feature_map, lengths)
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
    given: Tensor,
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
    sizes = _sizes(q, v, omega, feature_map, lengths)
    (batch, heads, n, _), m = q.shape, k.shape[2]
    texts, packed = sizes.texts(batch), lengths is not None
    places, edges = sizes.tables(q.device) if packed else (None, None)
    lowest = torch.full((texts, heads), _LOWEST, device=q.device) if start_top is None else start_top
    kind = {"full": math.gcd(n, m) % sizes.segment == 0 and not packed, "causal": causal, "masked": mask is not None}
    given = given if given.stride(-1) == 1 else given.contiguous()
    dq, dk, dv = _like(q, sizes.inputs), _like(k, sizes.inputs), _like(v, sizes.values)
    segments = sizes.all_segments(batch, n)
    sums = q.new_empty(segments, heads, sizes.width, dtype=torch.float32)
    back, behind, to_divisor = torch.empty_like(local), torch.empty_like(before), torch.empty_like(divisor)
    every = q.new_empty(texts, heads, sizes.width, dtype=torch.float32)  # of all queries, where it is not causal
    kernels.sums(
        (heads, segments, sizes.blocks),
        q, given, out, divisor, omega, mask, q_scale, top, lowest, places, back, sums, to_divisor,
        *_strides(q, given, out), heads, n, sizes.segments(n), constants=sizes.constants(**kind, BACKWARD=True),
    )  # fmt: skip
    kernels.scan_sums(
        (texts, heads, -(-sizes.width // 256)),
        sums, behind if causal else sums, None, every, top, lowest, edges, sizes.width, heads, n, sizes.segments(n),
        constants=sizes.scanning(causal=causal, REVERSE=True, STARTS=False, ENDS=not causal),
    )  # fmt: skip
    query_chunks, key_chunks = (sizes.all_segments(batch, length) * sizes.chunks for length in (n, m))
    kernels.gradients(
        (2 * heads, max(query_chunks, key_chunks), 1),
        q, k, v, given, divisor, to_divisor, omega, mask, q_scale, scale, top, lowest, places,
        local, before if causal else end, back, behind if causal else every, dq, dk, dv,
        *_strides(q, k, v, given, dq, dk, dv),
        heads, n, sizes.segments(n), query_chunks, m, sizes.segments(m), key_chunks,
        constants=sizes.constants(**kind, limited=sizes.small),
    )  # fmt: skip
    return dq, dk, dv


_gradients_op = torch.library.custom_op("gradlab::linear_attention_backward", _gradients, mutates_args=())


@_gradients_op.register_fake
def _(given: Tensor, q: Tensor, k: Tensor, v: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    return _like(q, q.shape[-1]), _like(k, k.shape[-1]), _like(v, v.shape[-1])


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    q, k, v, omega, mask, _, start_top, *settings = inputs
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)  # else zeros are written for each of them
    ctx.save_for_backward(q, k, v, omega, mask, start_top, *output)
    ctx.feature_map, ctx.causal, _, ctx.lengths = settings


def _backward(ctx: Any, given: Tensor, *others: Tensor) -> tuple[Tensor | None, ...]:
    of: Any = _gradients_op if torch.compiler.is_compiling() else _gradients
    return *of(given, *ctx.saved_tensors, ctx.feature_map, ctx.causal, ctx.lengths), *[None] * 8


_attend_op.register_autograd(_backward, setup_context=_save)


class _Attend(torch.autograd.Function):
    """The operator without torch's dispatcher, which takes longer than the kernels of a short text."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, ...]:
        found = _attend(*arguments)
        _save(ctx, arguments, found)
        return found

    backward = staticmethod(_backward)


def attend(*arguments: Any) -> tuple[Tensor, ...]:
    """Outputs and what `_attend` gives beside them."""
    found: tuple[Tensor, ...] = _attend_op(*arguments) if torch.compiler.is_compiling() else _Attend.apply(*arguments)  # type: ignore[no-untyped-call]
    return found


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
