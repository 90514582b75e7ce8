"""How fast a model writes: gradlab's decoding beside Hugging Face's, of the same weights, which must write the same."""

import importlib.util
import random
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from gradlab.bench.arena import Progress, faster
from gradlab.bench.cases import check_rounds
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError

_REFERENCES = ["Hugging Face generate", "Hugging Face generate, 1 thread"]
# Torch's number of threads is too many for small work: each also writes with one, and nobody is beaten by a default.
_CONTESTANTS: dict[str, dict[str, Any]] = {
    "gradlab": {"contestant": "gradlab", "threads": None},
    "gradlab, 1 thread": {"contestant": "gradlab", "threads": 1},
    _REFERENCES[0]: {"contestant": "hugging-face", "threads": None},
    _REFERENCES[1]: {"contestant": "hugging-face", "threads": 1},
}


@dataclass(frozen=True, kw_only=True)
class DecodeRow:
    """One contestant, medians over rounds."""

    title: str
    speed: float
    """How many times as fast as Hugging Face at its faster number of threads."""
    microseconds: float
    """A token of each row."""
    early: float | None
    """The same over the first quarter of the text, where it was measured."""
    late: float | None
    """Over the last quarter: attention looks at more, and all else costs the same."""


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """All contestants, on prompts of one number of rows."""

    batch: int
    prompt: int
    new: int
    model: str
    same: bool
    """Whether all have written the same tokens."""
    rows: list[DecodeRow]


def bench_decode(
    batches: Sequence[int], rounds: int, progress: Progress, *, new: int = 256, prompt: int = 16
) -> list[Decoded]:
    """Let a 4-layer GPT-2, 128 wide, with random weights write greedily after random prompts."""
    check_rounds(rounds)
    for name, value in {"batch": min(batches), "new": new, "prompt": prompt}.items():
        if value < 1:
            raise GradlabError(f"{name} must be at least 1, got {value}.")
    if importlib.util.find_spec("transformers") is None:
        raise GradlabError('Hugging Face\'s transformers are not installed: pip install "gradlab[bench]"')
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder, ExitStack() as stack:
        progress("decode: making a model")
        request = {"folder": folder, "new": new, "prompt": prompt}
        workers = {name: stack.enter_context(Worker("gradlab.bench.decoding.small_worker")) for name in _CONTESTANTS}
        try:
            for name, worker in workers.items():  # the first makes the weights
                model = worker.ask({**request, **_CONTESTANTS[name]})["model"]
            return [
                _measure(workers, batch, rounds, progress, model=model, new=new, prompt=prompt) for batch in batches
            ]
        except WorkerFailed as error:
            raise GradlabError(f"A contestant failed: {error}") from None


def _measure(
    workers: Mapping[str, Worker], batch: int, rounds: int, progress: Progress, *, model: str, new: int, prompt: int
) -> Decoded:
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in workers}
    shuffle = random.Random(0).shuffle
    for number in range(rounds + 1):  # the first warms up
        progress(f"batch {batch}: round {number} of {rounds}" if number else f"batch {batch}: warming up")
        order = list(workers)
        shuffle(order)
        for name in order:
            answers[name].append(workers[name].ask({"batch": batch, "seed": number}))
    written = [{one[number]["text"] for one in answers.values()} for number in range(rounds + 1)]
    counted = {name: results[1:] for name, results in answers.items()}
    seconds = {name: [one["seconds"] for one in results] for name, results in counted.items()}
    reference = faster(seconds, _REFERENCES)

    def row(name: str) -> DecodeRow:
        speed = statistics.median(a / b for a, b in zip(seconds[reference], seconds[name], strict=True))
        early, late = (
            statistics.median(one[part] for one in counted[name]) * 1e6 if part in counted[name][0] else None
            for part in ("early", "late")
        )
        typical = statistics.median(seconds[name]) / new * 1e6
        return DecodeRow(title=name, speed=speed, microseconds=typical, early=early, late=late)

    rows = sorted(map(row, workers), key=lambda row: -row.speed)
    return Decoded(
        batch=batch, prompt=prompt, new=new, model=model, same=all(len(texts) == 1 for texts in written), rows=rows
    )
