"""How fast a GPT-2 of 124 million weights writes on a GPU: from the first call of a fresh process on, in bf16."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradlab.bench.arena import Progress
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError
from gradlab.wording import counted

_WORK: Sequence[tuple[str, int, int]] = (
    ("gpt", 1, 1),
    ("gpt", 16, 1),
    ("gpt", 16, 4),
    ("linear", 1, 1),
    ("lstm", 1, 1),
)
"""A kind of model, texts at once, and beams for each of them."""

_TITLES = {"gradlab": "gradlab", "hugging-face": "Hugging Face generate"}


@dataclass(frozen=True, kw_only=True)
class CudaDecodeRow:
    """One contestant in a process of its own."""

    title: str
    first_token: float
    """Seconds from the call to the first token: compiling and recording are in them. With beams, to the second."""
    tokens_per_second: float
    """Of each text, over the tokens after that."""


@dataclass(frozen=True, kw_only=True)
class CudaDecoded:
    """All contestants at one work."""

    texts: int
    beams: int
    new: int
    model: str
    device: str
    versions: str
    floor: float
    """Tokens a second, if a token were no more than to read the weights once, at the speed of copying measured here."""
    same: bool
    """Whether all wrote the same tokens in float32, in which alone kernels that sum in another order still agree."""
    rows: list[CudaDecodeRow]


def bench_decode_cuda(
    progress: Progress,
    *,
    new: int = 256,
    prompt: int = 16,
    work: Sequence[tuple[str, int, int]] = _WORK,
    device: str = "cuda",
    **sizes: int,
) -> list[CudaDecoded]:
    """Let a GPT-2 with random weights write greedily and by beam search, one with linear attention, and an LSTM.

    `sizes` are others than those of GPT-2.
    """
    from gradlab.training.environment import find_device

    if new < 3:
        raise GradlabError(f"tokens must be at least 3, got {new}.")
    find_device(device)  # which refuses one that is not there
    peers = ["hugging-face"] if importlib.util.find_spec("transformers") else []
    results = []
    for kind, texts, beams in work:
        answers: dict[str, dict[str, Any]] = {}
        for name in ["gradlab", *(peers if kind == "gpt" else [])]:
            progress(f"{_TITLES[name]}, {kind}: {counted(texts, 'text')}, beams: {beams}")
            request = {"contestant": name, "kind": kind, "texts": texts, "beams": beams, "new": new, "prompt": prompt}
            try:
                with Worker("gradlab.bench.decoding.cuda_worker") as worker:
                    answers[name] = worker.ask({**request, "device": device, "sizes": sizes})
            except WorkerFailed as error:
                raise GradlabError(f"{_TITLES[name]} failed: {error}") from None
        rows = [
            CudaDecodeRow(
                title=_TITLES[name],
                first_token=answer["first"],
                tokens_per_second=answer["counted"] / answer["rest"],
            )
            for name, answer in answers.items()
        ]
        about = {key: answers["gradlab"][key] for key in ("model", "device", "versions", "floor")}
        same = len({answer["text"] for answer in answers.values()}) == 1
        results.append(CudaDecoded(texts=texts, beams=beams, new=new, same=same, rows=rows, **about))
    return results
