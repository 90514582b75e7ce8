"""How fast a GPU trains: GPT-2, recurrent models and an MLP by default settings, beside peers and loops by hand."""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gradlab.bench.arena import Progress
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError

_TITLES = {
    "gradlab": "gradlab",
    "gradlab-fp8": "gradlab, fp8",
    "hugging-face": "Hugging Face, compiled",
    "cell-loop": "the same, a loop over cells",
    "usual-loop": "DataLoader and the usual loop",
}
_FAR = 0.02  # losses of the same batches from the same weights, in bf16: further apart is other work


@dataclass(frozen=True, kw_only=True)
class CudaTrainRow:
    """One contestant in a process of its own."""

    title: str
    milliseconds: float
    """A step, over the second half of the steps."""
    examples_per_second: float
    """Tokens, or rows of a table."""
    before: float
    """Seconds until then beyond what the steps took: compiling, recording."""
    gibibytes: float
    """Of the device, at the peak."""
    losses: list[float]
    """The mean of each half of the steps, where it is known."""


@dataclass(frozen=True, kw_only=True)
class CudaTrained:
    """All contestants at one work."""

    title: str
    unit: str
    device: str
    versions: str
    floor: float | None
    """Milliseconds of a step, if products of matrices were all of it and as fast as a large one measured here."""
    rows: list[CudaTrainRow]


WORKS = {
    "gpt": ("gradlab", "gradlab-fp8", "hugging-face"),
    "lstm": ("gradlab", "cell-loop"),
    "gru": ("gradlab", "cell-loop"),
    "mlp": ("gradlab", "usual-loop"),
}


def bench_train_cuda(
    progress: Progress,
    works: Mapping[str, Sequence[str]] = WORKS,
    *,
    device: str = "cuda",
    steps: int = 60,
    **sizes: Any,
) -> Iterator[CudaTrained]:
    """Each work when it is measured, by contestants that are there. `sizes` are others than usual, by the work."""
    from gradlab.training.checks import has_fp8
    from gradlab.training.environment import find_device

    # One that is not there is refused.
    absent = {"gradlab-fp8"} if not has_fp8(find_device(device)) else set()
    absent |= {"hugging-face"} if importlib.util.find_spec("transformers") is None else set()
    for work, contestants in works.items():
        answers: dict[str, dict[str, Any]] = {}
        for name in (one for one in contestants if one not in absent):
            progress(f"{_TITLES[name]}: {work}")
            request = {"work": work, "contestant": name, "device": device, "steps": steps, "sizes": sizes.get(work, {})}
            try:
                with Worker("gradlab.bench.cuda.training_worker") as worker:
                    answers[name] = worker.ask(request)
            except WorkerFailed as error:
                raise GradlabError(f"{_TITLES[name]} failed: {error}") from None
        about = {key: answers["gradlab"][key] for key in ("title", "unit", "device", "versions", "floor")}
        rows = [CudaTrainRow(title=_TITLES[name], **answer["row"]) for name, answer in answers.items()]
        check_same_work(rows)
        yield CudaTrained(**about, rows=rows)


class Trained(Protocol):
    """A training, as far as it must be known to be compared."""

    @property
    def title(self) -> str: ...

    @property
    def losses(self) -> list[float]: ...


def check_same_work(rows: Sequence[Trained], far: float = _FAR, least: float = 0.0) -> None:
    """Refuse to compare trainings whose losses differ by more than a share, of `least` where they are less than it."""
    for row in rows[1:]:
        for ours, theirs in zip(rows[0].losses, row.losses, strict=False):
            if abs(ours - theirs) > far * max(abs(ours), abs(theirs), least):
                raise GradlabError(
                    f"{row.title} does other work than {rows[0].title}: its loss is {theirs:.4f}, not {ours:.4f}. "
                    "They cannot be compared."
                )
