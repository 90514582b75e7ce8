"""Attention by itself on a GPU: what it takes beside the least time that its bytes and its products need, and peers."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gradlab.bench.arena import Progress
from gradlab.bench.attention.lengths import exponent
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError

KINDS = {
    "softmax": "softmax, causal",
    "written-out": "softmax, causal, written out",
    "linear-causal": "linear, causal",
    "linear": "linear",
    "performer-causal": "performer, causal",
    "performer": "performer",
}
PEERS = {
    "chunks": "linear, causal: PyTorch chunks, compiled",
    "fla": "linear, causal: fla, chunks",
    "fla-fused": "linear, causal: fla, fused chunks",
    "flex": "softmax, causal: Flex attention, compiled",
}
SAME_WORK = {"chunks": "linear-causal", "fla": "linear-causal", "fla-fused": "linear-causal", "flex": "softmax"}
"""By peer, the kind of ours whose outputs and gradients it must give."""
LENGTHS = (1024, 4096, 16384, 65536)
OTHERS = ((32, "bfloat16"), (128, "bfloat16"), (64, "float16"), (64, "float32"))
"""Further sizes of heads and types in which causal linear attention is measured."""
FEATURES, SPREADS = (16, 64, 256, 1024), (0.25, 1.0)
NUM_FEATURES = 256  # of the performers that are timed
FIGURES = ("milliseconds", "replayed", "gibibytes", "error", "reason")  # of a pass, which the worker measures
_WORSE = 0.1  # an error of our own beyond this is not a matter of rounding

_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}


@dataclass(frozen=True, kw_only=True)
class Pass:
    """Forward and backward at one length, of as many texts as make up the tokens."""

    kind: str
    title: str
    length: int
    heads: int
    dim: int
    dtype: str
    floor: float
    """Milliseconds in which all bytes pass through memory once, or all products are made, whichever is longer."""
    milliseconds: float | None
    replayed: float | None
    """Milliseconds of the same recorded as a CUDA graph; None where that cannot be."""
    gibibytes: float | None
    """At the peak, beyond the inputs."""
    error: float | None
    """Of outputs and gradients beside float64, relative to their size: the largest."""
    reason: str | None
    """Why there are no figures: too little memory, other work, or how a peer failed."""


@dataclass(frozen=True, kw_only=True)
class Exponents:
    """The b of a·nᵇ for one text of n tokens, by the longest lengths."""

    time: float | None
    memory: float | None


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """How close a Performer comes to softmax attention."""

    features: int
    spread: float
    """Standard deviation of the scores qᵀk/√d: the larger, the sharper the attention."""
    error: float
    """Relative to the size of what softmax attention gives."""


@dataclass(frozen=True, kw_only=True)
class AttentionAlone:
    """All kinds and lengths on one device."""

    device: str
    versions: str
    tokens: int
    heads: int
    dim: int
    dtype: str
    copy: float
    """Terabytes that the device copies in a second, read and write."""
    products: dict[str, float]
    """By type, the 10¹² operations a second of a large product of matrices."""
    passes: list[Pass]
    others: list[Pass]
    """Causal linear attention with heads of other sizes, as many numbers in all, and in other types."""
    exponents: dict[str, Exponents]
    crossover: dict[str, float | None]
    """By kind, the tokens of a text from which it is faster than softmax attention."""
    estimates: list[Estimate]


def bench_attention_alone(
    progress: Progress,
    *,
    lengths: Sequence[int] = LENGTHS,
    others: Sequence[tuple[int, str]] = OTHERS,
    peers: Sequence[str] = tuple(PEERS),
    tokens: int = 65536,
    heads: int = 16,
    dim: int = 64,
    dtype: str = "bfloat16",
    device: str = "cuda",
) -> AttentionAlone:
    """Each kind and peer at each length, in one process."""
    from gradlab.training.environment import find_device

    find_device(device)  # which refuses one that is not there
    here = {name: PEERS[name] for name in peers if "fla" not in name or importlib.util.find_spec("fla")}
    middle = lengths[len(lengths) // 2]
    with Worker("gradlab.bench.attention.alone_worker") as worker:

        def ask(**question: Any) -> dict[str, Any]:
            try:
                return worker.ask(question)
            except WorkerFailed as error:
                raise GradlabError(f"Attention on {device} failed: {error}") from None

        about = ask(ask="device", dtypes=sorted({dtype, *(kind for _, kind in others)}), device=device)

        def measure(kind: str, length: int, **shape: Any) -> Pass:
            title = (KINDS | PEERS)[kind]
            progress(f"{title}: {length:,} tokens, heads of {shape['dim']}, {shape['dtype']}")
            try:
                figures = ask(ask="pass", kind=kind, length=length, tokens=tokens, **shape, device=device)
            except GradlabError as error:
                if kind in KINDS:
                    raise
                figures = {**dict.fromkeys(FIGURES), "reason": str(error)}
            size = tokens * shape["heads"] * shape["dim"] * _BYTES[shape["dtype"]]
            operations = least_operations(kind, length, tokens, shape["heads"], shape["dim"])
            floor = 1e3 * max(12 * size / about["copy"], operations / about["products"][shape["dtype"]]) / 1e12
            return _checked(Pass(kind=kind, title=title, length=length, **shape, floor=floor, **figures))

        shape: dict[str, Any] = {"heads": heads, "dim": dim, "dtype": dtype}
        passes = [measure(kind, length, **shape) for kind in KINDS for length in lengths]
        further = [
            measure("linear-causal", middle, heads=max(1, heads * dim // size), dim=size, dtype=type_)
            for size, type_ in others
        ]
        progress("performer beside softmax")
        size = {"tokens": tokens, "heads": heads, "dim": dim, "device": device}
        estimates = ask(ask="estimates", counts=FEATURES, spreads=SPREADS, **size)["estimates"]
        # Last: a peer may take the process with it.
        passes += [measure(kind, length, **shape) for kind in here for length in lengths]
    return AttentionAlone(
        **about,
        tokens=tokens,
        **shape,
        passes=passes,
        others=further,
        exponents={kind: exponents(passes, kind, tokens) for kind in KINDS | here},
        crossover={kind: crossover(passes, kind) for kind in ("linear-causal", "performer-causal")},
        estimates=[Estimate(**one) for one in estimates],
    )


def least_operations(kind: str, length: int, tokens: int, heads: int, dim: int) -> float:
    """Of the products of matrices, forward and backward.

    Softmax attention has two products forward, and backward the scores again and four gradients: seven in all, of n/2
    keys a query. Linear attention adds each key to the sums and reads them by each query, and has two gradients of each
    product. A Performer has the products with its directions beside that, whose gradient is for queries and keys alone.
    """
    softmax, linear = 7 * length * dim, 12 * dim**2
    performer = 20 * dim * NUM_FEATURES
    name = SAME_WORK.get(kind, kind).removesuffix("-causal")
    each = {"softmax": softmax, "written-out": softmax, "performer": performer}.get(name, linear)
    return float(each * tokens * heads)


def _checked(one: Pass) -> Pass:
    """Refuse figures of a kind of ours that is wrong here; peers that do other work are left out by the worker."""
    if one.kind in KINDS and one.error is not None and not one.error <= _WORSE:
        raise GradlabError(
            f"{one.title} at {one.length:,} tokens is wrong on this device: its error is {one.error:.2g}. Its time "
            "means nothing."
        )
    return one


def exponents(passes: Sequence[Pass], kind: str, tokens: int) -> Exponents:
    """Of one text: as many as make up the tokens take that many times as long."""
    mine = [one for one in passes if one.kind == kind]

    def of(figures: Mapping[int, float | None]) -> float | None:
        return exponent([(n, figure * n / tokens if figure else None) for n, figure in figures.items()])

    return Exponents(
        time=of({one.length: one.milliseconds for one in mine}),
        memory=of({one.length: one.gibibytes for one in mine}),
    )


def crossover(passes: Sequence[Pass], kind: str = "linear-causal") -> float | None:
    """Where the straight lines between measured lengths (of their logarithms) meet; None where they do not."""
    times = {(one.kind, one.length): one.milliseconds for one in passes}
    lengths = sorted({one.length for one in passes})
    known = [(n, times["softmax", n], times[kind, n]) for n in lengths]
    ratios = [(n, softmax / linear) for n, softmax, linear in known if softmax and linear]
    if not ratios or ratios[-1][1] <= 1:
        return None
    if ratios[0][1] > 1:
        return float(ratios[0][0])
    for (n, below), (m, above) in pairwise(ratios):
        if below <= 1 < above:
            return float(n * (m / n) ** ((1 - below) / (above - below)))
    return None
