"""What speculative decoding gains with a trained model: tokens a second with drafts and without, and what was taken."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradlab.bench.arena import Progress
from gradlab.bench.processes import Worker, WorkerFailed, call
from gradlab.errors import GradlabError

_RECIPE = "stdlib-gpt"
_SHAPE = {"position": "learned", "norm": "layer", "gated": False, "bias": True, "approximate": "tanh"}  # of GPT-2
_BOTH: dict[str, Any] = {"train.lr": 1e-3, "train.batch_size": 64, "train.precision": "bf16", "data.context": 512}
_BOTH |= {f"model.{key}": value for key, value in _SHAPE.items()}
_MODEL = {"model.dim": 768, "model.layers": 12, "model.heads": 12, "train.steps": 600}
_DRAFT = {"model.dim": 256, "model.layers": 2, "model.heads": 4, "train.steps": 1500}
"""As little training as shows that a draft can guess: under a minute on a GPU of today."""


@dataclass(frozen=True, kw_only=True)
class SpeculativeRow:
    """One way to write the same texts, one after the other."""

    title: str
    tokens_per_second: float
    """After the first token of each, which bears what comes once."""
    acceptance: float | None
    """The share of guesses that were taken."""
    tokens_per_reading: float
    """Tokens that the model gives each time it is read."""


@dataclass(frozen=True, kw_only=True)
class Speculated:
    """All ways, greedy and drawn."""

    new: int
    texts: int
    model: str
    draft: str
    device: str
    versions: str
    same: bool
    """Whether greedy texts are the same with drafts and without, in float32."""
    rows: list[SpeculativeRow]


def bench_speculative(
    progress: Progress,
    *,
    new: int = 256,
    texts: int = 8,
    device: str = "cuda",
    recipe: str = _RECIPE,
    both: Mapping[str, Any] = _BOTH,
    model: Mapping[str, Any] = _MODEL,
    draft: Mapping[str, Any] = _DRAFT,
) -> Speculated:
    """Train a model and a small draft on the same text, and let both write after the beginnings of held-out texts."""
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        for name, values in {"model": model, "draft": draft}.items():
            progress(f"speculative decoding: training the {name}")
            changed = [f"{key}={str(value).lower()}" for key, value in {**both, **values}.items()]
            out = ["--out", str(Path(folder) / name), "--device", device, "--json"]
            call(["-m", "gradlab", "train", recipe, *changed, *out])
        progress("speculative decoding: writing")
        try:
            with Worker("gradlab.bench.decoding.speculative_worker") as worker:
                answer = worker.ask({"folder": folder, "device": device, "new": new, "texts": texts})
        except WorkerFailed as error:
            raise GradlabError(f"Speculative decoding failed: {error}") from None
    rows = [SpeculativeRow(**row) for row in answer.pop("rows")]
    return Speculated(new=new, texts=texts, rows=rows, **answer)
