"""Attention by itself on a GPU: what it takes beside the least time in which its bytes can be read and written."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gradlab.bench.arena import Progress
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError

KINDS = {
    "softmax": "softmax, causal",
    "linear-causal": "linear, causal",
    "linear": "linear",
    "performer-causal": "performer, causal",
    "performer": "performer",
}
LENGTHS = (1024, 4096, 16384, 65536)
FEATURES = (16, 64, 256, 1024)


@dataclass(frozen=True, kw_only=True)
class Pass:
    """Forward and backward at one length, of as many texts as make up the tokens; None where memory did not suffice."""

    kind: str
    title: str
    length: int
    milliseconds: float | None
    gibibytes: float | None
    error: float | None
    """Of outputs and gradients beside the same in float32 by PyTorch, relative to their size: the largest."""


@dataclass(frozen=True, kw_only=True)
class AttentionAlone:
    """All kinds and lengths on one device."""

    device: str
    versions: str
    tokens: int
    heads: int
    dim: int
    dtype: str
    floor: float
    """Milliseconds in which queries, keys, values, outputs and their gradients pass through memory once."""
    copy: float
    """Terabytes that the device copies in a second, read and write: what the floor is measured with."""
    passes: list[Pass]
    crossover: float | None
    """Tokens of a text from which causal linear attention is faster than softmax attention."""
    features: dict[int, float]
    """By the number of a Performer's features, its error beside softmax attention, relative to the size of that."""


def bench_attention_alone(
    progress: Progress,
    *,
    lengths: Sequence[int] = LENGTHS,
    tokens: int = 65536,
    heads: int = 16,
    dim: int = 64,
    dtype: str = "bfloat16",
    device: str = "cuda",
) -> AttentionAlone:
    """Each kind at each length, in one process."""
    from gradlab.training.environment import find_device

    find_device(device)  # which refuses one that is not there
    passes: list[Pass] = []
    with Worker("gradlab.bench.attention_alone_worker") as worker:

        def ask(**question: Any) -> dict[str, Any]:
            try:
                return worker.ask(question)
            except WorkerFailed as error:
                raise GradlabError(f"Attention on {device} failed: {error}") from None

        setting = {"tokens": tokens, "heads": heads, "dim": dim, "dtype": dtype, "device": device}
        about = ask(ask="device", **setting)
        for kind, title in KINDS.items():
            for length in lengths:
                progress(f"{title}: {length:,} tokens")
                passes.append(Pass(kind=kind, title=title, length=length, **ask(ask="pass", kind=kind, length=length)))
        progress("performer beside softmax")
        features = ask(ask="features", counts=FEATURES)["errors"]
    return AttentionAlone(
        **about,
        tokens=tokens,
        heads=heads,
        dim=dim,
        dtype=dtype,
        passes=passes,
        crossover=crossover(passes),
        features=dict(zip(FEATURES, features, strict=True)),
    )


def crossover(passes: Sequence[Pass]) -> float | None:
    """Where the straight lines between measured lengths (of their logarithms) meet; None where they do not."""
    times = {(one.kind, one.length): one.milliseconds for one in passes}
    lengths = sorted({one.length for one in passes})
    known = [(n, times["softmax", n], times["linear-causal", n]) for n in lengths]
    ratios = [(n, softmax / linear) for n, softmax, linear in known if softmax and linear]
    if not ratios or ratios[-1][1] <= 1:
        return None
    if ratios[0][1] > 1:
        return float(ratios[0][0])
    for (n, below), (m, above) in pairwise(ratios):
        if below <= 1 < above:
            return float(n * (m / n) ** ((1 - below) / (above - below)))
    return None
