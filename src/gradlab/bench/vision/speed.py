"""How fast a network of pictures trains: with augmentation beside the usual loop, and what each augmentation costs."""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from gradlab.bench.arena import Answers, Progress, Turns, each, faster, ratios
from gradlab.bench.beside import measured, start
from gradlab.bench.cases import check_rounds
from gradlab.bench.cuda.training import check_same_work

MODELS = {"cpu": "cifar-cnn", "cuda": "resnet20"}
SIZES: dict[str, dict[str, int]] = {
    "cpu": {"rows": 2560, "batch": 128, "steps": 20},
    "cuda": {"rows": 25_600, "batch": 512, "steps": 512},  # enough steps for several of them to be replayed at once
}
"""Pictures that are generated, those of a step, and steps of each training."""
ROUNDS = {"cpu": 5, "cuda": 3}

PADDING = 4  # pixels: the usual crop of pictures of CIFAR
USUAL: dict[str, Any] = {"flip": True, "translate": PADDING}
AUGMENTATIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "flip and crop with padding": USUAL,
    "flip": {"flip": True},
    "crop": {"crop": 0.8},
    "translate": {"translate": PADDING},
    "rotate": {"rotate": 15.0},
    "colour": {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2},
    "cutout": {"cutout": 8},
    "mixup": {"mixup": 1.0},
    "cutmix": {"cutmix": 1.0},
}
_PLAIN = "none"
_GRADLAB = "gradlab"
_WORKER = "gradlab.bench.vision.worker"
_WORKERS = {_GRADLAB: None, "DataLoader with workers": True, "DataLoader without workers": False}
# Losses of other draws and another order from the same weights, in shares of a nat or of themselves: further apart is
# other work.
_FAR = 0.25


@dataclass(frozen=True, kw_only=True)
class VisionRow:
    """One training; figures are medians over rounds."""

    title: str
    ratio: float
    """Of its step's time to the reference's of the same round."""
    cpu: float
    """The same of the CPU time of its process, in which workers of a loader are not."""
    milliseconds: float
    """A step, over the second half of the steps."""
    pictures_per_second: float
    before: float
    """Seconds until then beyond what the steps took: workers that start, recording."""
    gibibytes: float
    """Of the device, at the peak."""
    losses: list[float]
    """The mean of each half of the steps, of the last round."""


@dataclass(frozen=True, kw_only=True)
class VisionTrained:
    """Trainings of the same network on as many pictures."""

    title: str
    reference: str
    rounds: int
    device: str
    versions: str
    rows: list[VisionRow]


def bench_vision(
    progress: Progress, *, device: str = "cpu", model: str | None = None, rounds: int | None = None, **sizes: int
) -> Iterator[VisionTrained]:
    """gradlab beside the usual loop, then each augmentation beside none. `sizes` are others than usual."""
    from gradlab.models import build_model
    from gradlab.registry import Part
    from gradlab.specs import Picture
    from gradlab.training.environment import find_device

    rounds = ROUNDS[device] if rounds is None else rounds
    check_rounds(rounds)
    find_device(device)  # one that is not there is refused, and so is a model
    model = model or MODELS[device]
    build_model(Part(model), Picture(3, 32, 32), 10)
    size = SIZES[device] | sizes
    work = {"model": model, "device": device, **size}
    with ExitStack() as stack:
        # Beside a GPU, one process that changes pictures is so slow that nobody would take it.
        loops = {title: has for title, has in _WORKERS.items() if device == "cpu" or has is not False}
        started = {
            title: start(_WORKER, title, stack, progress, {**work, "workers": has}) for title, has in loops.items()
        }
        about = started[_GRADLAB][1]
        what = f"{model}, batch {size['batch']}, {size['steps']} steps"
        beside = {title: partial(worker.ask, {"augment": USUAL}) for title, (worker, _) in started.items()}
        answers = measured("training", beside, rounds, progress, "pictures")
        reference = faster(each(answers, "milliseconds"), [title for title in started if title != _GRADLAB])
        rows = _rows(answers, reference)
        check_same_work(rows, _FAR, least=1.0)
        title = f"{what}, with flips and crops of {PADDING} pixels' padding"
        yield VisionTrained(title=title, reference=reference, rounds=rounds, rows=rows, **about)

        ours, _ = started[_GRADLAB]
        alone: Turns = {name: partial(ours.ask, {"augment": settings}) for name, settings in AUGMENTATIONS.items()}
        rows = _rows(measured("augmentations", alone, rounds, progress, "pictures"), _PLAIN)
        title = f"{what}, by gradlab with each augmentation"
        yield VisionTrained(title=title, reference=_PLAIN, rounds=rounds, rows=rows, **about)


def _rows(answers: Answers, reference: str) -> list[VisionRow]:
    wall, cpu = (ratios(each(answers, f"{kind}milliseconds"), reference) for kind in ("", "cpu_"))
    figures = ("milliseconds", "pictures_per_second", "before", "gibibytes")
    return [
        VisionRow(
            title=name,
            ratio=wall[name],
            cpu=cpu[name],
            losses=results[-1]["losses"],
            **{figure: statistics.median(one[figure] for one in results) for figure in figures},
        )
        for name, results in answers.items()
    ]
