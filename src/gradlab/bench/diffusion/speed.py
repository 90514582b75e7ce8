"""How fast a diffusion network draws, beside the same network in a pipeline of diffusers."""

import importlib.util
import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from gradlab.bench.arena import Answers, Progress, each, faster, ratios
from gradlab.bench.beside import measured, start
from gradlab.bench.cases import check_rounds
from gradlab.errors import GradlabError
from gradlab.wording import counted

SIZES: dict[str, dict[str, Any]] = {
    "cpu": {"width": 32, "multiples": [1, 2], "blocks": 1, "batch": 16, "steps": 10},
    "cuda": {"width": 64, "multiples": [1, 2, 2], "blocks": 2, "batch": 64, "steps": 50},  # of mnist-diffusion
}
"""Of the network, samples that are drawn together, and steps in which they are drawn."""
GUIDANCES = (1.0, 2.0)
ROUNDS = 5
_WORKER = "gradlab.bench.diffusion.worker"
_GRADLAB = "gradlab"
_PIPELINES = {
    "cpu": {"diffusers": "float32"},
    "cuda": {"diffusers": "float32", "diffusers, weights in bf16": "bf16", "diffusers, autocast to bf16": "autocast"},
}
_FAR = {"cpu": 1e-3, "cuda": 0.1}
"""Shares of the largest number of a sample: further apart, from the same noise by the same weights, is other work. On a
GPU gradlab draws pictures in bf16."""


@dataclass(frozen=True, kw_only=True)
class DrawnRow:
    """One contestant; times are medians over rounds."""

    title: str
    ratio: float
    """Of its time to the reference's of the same round."""
    milliseconds: float
    """A step of all samples."""
    samples_per_second: float
    difference: float
    """The largest from gradlab's samples, as a share of the largest number in them."""


@dataclass(frozen=True, kw_only=True)
class DiffusionDrawn:
    """The same samples, by all contestants."""

    title: str
    guidance: float
    reference: str
    rounds: int
    parameters: int
    device: str
    versions: str
    rows: list[DrawnRow]


def bench_diffusion(
    progress: Progress, *, device: str = "cpu", rounds: int = ROUNDS, **sizes: Any
) -> Iterator[DiffusionDrawn]:
    """gradlab as `gradlab generate` draws, beside pipelines; as trained, then guided. `sizes` are others than usual."""
    from gradlab.training.environment import find_device

    check_rounds(rounds)
    find_device(device)  # one that is not there is refused
    if importlib.util.find_spec("diffusers") is None:
        raise GradlabError('diffusers is not installed: pip install "gradlab[bench]"')
    size = SIZES[device] | sizes
    pipelines = _PIPELINES[device]
    with ExitStack() as stack:
        started = {
            title: start(_WORKER, title, stack, progress, {**size, "device": device, "precision": precision})
            for title, precision in {_GRADLAB: None, **pipelines}.items()
        }
        about = started[_GRADLAB][1]
        for guidance in GUIDANCES:
            turns = {title: partial(worker.ask, {"guidance": guidance}) for title, (worker, _) in started.items()}
            answers = measured(f"guidance {guidance:g}", turns, rounds, progress, "samples")
            reference = faster(each(answers, "seconds"), list(pipelines))
            yield DiffusionDrawn(
                title=f"{counted(size['batch'], 'sample')} in {counted(size['steps'], 'step')} of DPM-Solver++(2M)",
                guidance=guidance,
                reference=reference,
                rounds=rounds,
                parameters=answers[_GRADLAB][-1]["parameters"],
                rows=_rows(answers, reference, size["steps"], check_same_samples(answers, _FAR[device])),
                **about,
            )


def check_same_samples(answers: Answers, far: float) -> dict[str, float]:
    """How far each one's samples are from gradlab's; refused where that is more than rounding."""
    ours = answers[_GRADLAB][-1]["numbers"]
    largest = max(map(abs, ours))
    differences = {
        name: max(abs(a - b) for a, b in zip(ours, results[-1]["numbers"], strict=True)) / largest
        for name, results in answers.items()
    }
    for name, difference in differences.items():
        if not difference <= far:
            raise GradlabError(
                f"{name} does other work than gradlab: its samples differ by {difference:.2g} of the largest number in "
                f"them, more than {far:g}. They cannot be compared."
            )
    return differences


def _rows(answers: Answers, reference: str, steps: int, differences: dict[str, float]) -> list[DrawnRow]:
    wall = ratios(each(answers, "seconds"), reference)
    seconds = {name: statistics.median(results) for name, results in each(answers, "seconds").items()}
    return [
        DrawnRow(
            title=name,
            ratio=wall[name],
            milliseconds=1e3 * seconds[name] / steps,
            samples_per_second=results[-1]["samples"] / seconds[name],
            difference=differences[name],
        )
        for name, results in answers.items()
    ]
