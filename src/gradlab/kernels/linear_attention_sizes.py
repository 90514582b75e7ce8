"""How the work of linear attention is cut for a GPU: all of it follows from the shapes."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from gradlab.kernels.launching import Constants

_PROGRAMS = 512  # about four for each part of a large GPU, so that none is idle for long
SCANNED = 256  # numbers of sums that a program adds up over segments
_THIRD = 168  # of the registers of a multiprocessor, for each of 128 threads
_LEAST = torch.finfo(torch.float32).tiny ** 0.75  # its inverse, a factor of the derivative, is still a number


@dataclass(frozen=True)
class Sizes:
    """What the kernels are compiled for, and how the work is cut. All of it follows from the shapes."""

    feature_map: str
    heads: int
    inputs: int
    features: int
    values: int
    precision: str
    lengths: tuple[int, ...] | None
    length: int  # of which those of queries and of keys are multiples
    longest: int  # of the texts
    rows: int  # of all texts and heads

    @property
    def bf16(self) -> bool:
        return self.precision.startswith("bf16")

    def _padded(self, size: int) -> int:
        """Columns of a tile. All tiles have 32, or all at least 64: on sm_90, Triton 3.6 reads some right factors of 64
        rows and 32 columns, or of 16 columns, wrongly from shared memory where they were computed in bf16."""
        return max(32 if max(self.inputs, self.features, self.values) <= 32 else 64, _power(size))

    @cached_property
    def feature_block(self) -> int:
        """As many features as fit into the registers of a program, with a row of sums for each."""
        return min(self._padded(self.features), 64 if self.bf16 or self.padded_values <= 128 else 32)

    @cached_property
    def padded_inputs(self) -> int:
        return self._padded(self.inputs)

    @cached_property
    def padded_values(self) -> int:
        return self._padded(self.values)

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
        """Rows of a segment: as many as leave enough of them to fill the chip.

        If possible they divide the length. Then all rows of all chunks exist, and kernels need not ask which do.
        """
        wanted = 1 << (max(1, self.rows // _PROGRAMS).bit_length() - 1)
        most = min(2048, max(2 * self.chunk, min(wanted, _power(self.longest))))
        part = min(most, self.length & -self.length)  # the largest power of two that divides it
        return part if part >= min(most, 512) else most

    @cached_property
    def full(self) -> bool:
        return self.lengths is None and self.length % self.segment == 0

    @cached_property
    def small(self) -> bool:
        """Whether three programs fit beside each other, if each has a third of the registers."""
        return self.bf16 and self.feature_map != "exp" and max(self.padded_inputs, self.padded_values) <= 64

    @lru_cache(maxsize=256)  # noqa: B019  (as long as the process: there are as many as kinds of calls)
    def constants(self, *, causal: bool, masked: bool, limited: bool = False, **flags: bool) -> Constants:
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
            FULL=self.full,
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
            B=SCANNED,
            T=4 if self.segments(self.longest) <= 4 else 16,
            SEGMENT=self.segment,
            SCALED=self.scaled and causal,  # else all are in units of the same top
            PACKED=self.lengths is not None,
            **flags,
        )

    @lru_cache(maxsize=256)  # noqa: B019
    def scaling(self, *, masked: bool) -> Constants:
        names = ("D", "DP", "F", "BF", "C", "PRECISION")
        known = self.constants(causal=False, masked=False)
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
    return 1 << (size - 1).bit_length()


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


def sizes_of(
    q: Tensor, k: Tensor, v: Tensor, omega: Tensor | None, feature_map: str, lengths: Sequence[int] | None
) -> Sizes:
    features = None if omega is None else len(omega)
    texts = None if lengths is None else tuple(lengths)
    return _sizes(q.shape, k.shape[2], v.shape[-1], q.dtype, features, feature_map, texts)


@lru_cache(maxsize=256)
def _sizes(
    q: tuple[int, ...],
    keys: int,
    values: int,
    dtype: torch.dtype,
    features: int | None,
    feature_map: str,
    lengths: tuple[int, ...] | None,
) -> Sizes:
    precision = {torch.bfloat16: "bf16", torch.float16: "tf32", torch.float32: "tf32x3"}[dtype]
    if precision == "bf16" and os.environ.get("TRITON_INTERPRET") == "1":
        precision = "bf16 as float32"
    batch, heads, queries, inputs = q
    return Sizes(
        feature_map=feature_map,
        heads=heads,
        inputs=inputs,
        features=features or inputs,
        values=values,
        precision=precision,
        lengths=lengths,
        length=math.gcd(queries, keys),
        longest=max(lengths or (queries, keys)),
        rows=batch * heads * max(queries, keys),
    )
