"""What recipes of pictures reach on their test split, and how long they take: the real command, over seeds."""

import json
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradlab.bench.arena import Progress
from gradlab.bench.processes import call
from gradlab.errors import GradlabError, unknown

RECIPES = (
    "digits-cnn",
    "mnist-lenet",
    "mnist-resnet20",
    "fashion-mnist-resnet20",
    "cifar10-fast",
    "cifar10-resnet18",
)
_BUNDLED = ("digits",)  # needs no files
_NAMED_ONLY = "fashion-mnist"  # its files have the names of MNIST's


@dataclass(frozen=True, kw_only=True)
class VisionLearned:
    """One recipe over its seeds."""

    recipe: str
    parameters: int
    accuracy: list[float]
    """On the test split, seed by seed."""
    seconds: list[float]
    """Of the training, evaluations included."""
    whole: list[float]
    """From the start of the command to its end, when the report is written."""

    @property
    def spread(self) -> float | None:
        return statistics.stdev(self.accuracy) if len(self.accuracy) > 1 else None


def chosen(named: Sequence[str], data_of: Mapping[str, str], folder: Path | None) -> list[str]:
    """The recipes to train: those that are named, or else those whose data are there.

    `data_of` has the recipes that exist, each with the source of its data. A source that ships with gradlab is always
    there; others are where a folder has their files.
    """
    for name in named:
        if name not in data_of:
            raise unknown("recipe in this benchmark", name, data_of)
        _read(data_of[name], folder)  # or it is refused
    return [*named] or [name for name, source in data_of.items() if _is_there(source, folder)]


def _is_there(source: str, folder: Path | None) -> bool:
    if source in _BUNDLED:
        return True
    if folder is None or source == _NAMED_ONLY:
        return False
    try:
        _read(source, folder)
    except GradlabError:
        return False
    return True


def _read(source: str, folder: Path | None) -> None:
    from gradlab.data.dataset import sources

    if source not in _BUNDLED:
        sources[source](0, path=None if folder is None else str(folder))


def check_seeds(seeds: int) -> None:
    if seeds < 1:
        raise GradlabError(f"--seeds must be at least 1, got {seeds}.")


def bench_recipe(
    name: str, source: str, seeds: int, folder: Path | None, device: str, progress: Progress, *changes: str
) -> VisionLearned:
    """Train a recipe once for each seed, from the command to the report. `changes` are values of the recipe."""
    options = ["--device", device, "--json", *changes]
    options += ["--data", str(folder)] if folder is not None and source not in _BUNDLED else []
    accuracy, seconds, whole, parameters = [], [], [], 0
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as runs:
        for seed in range(seeds):
            progress(f"{name}: seed {seed + 1} of {seeds}")
            began = time.perf_counter()
            out = Path(runs, str(seed))
            call(["-m", "gradlab", "train", name, "--out", str(out), f"train.seed={seed}", *options])
            whole.append(time.perf_counter() - began)
            result = json.loads((out / "result.json").read_text())
            accuracy.append(result["test"]["accuracy"])
            seconds.append(result["seconds"])
            parameters = result["parameters"]
    return VisionLearned(recipe=name, parameters=parameters, accuracy=accuracy, seconds=seconds, whole=whole)
