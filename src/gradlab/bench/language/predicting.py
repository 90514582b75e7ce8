"""How well each kind of language model predicts a text that it has not seen, after the same time of training."""

import json
import math
import os
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradlab.bench.arena import Progress
from gradlab.bench.processes import call
from gradlab.errors import GradlabError, unknown
from gradlab.wording import counted

RECIPES = ("pydoc-ngram", "pydoc-rnn", "pydoc-lstm", "pydoc-gru", "pydoc-gpt")

_COUNTED = "pydoc-ngram"  # learns in one step, whatever the time
_TRIAL = 20  # steps that show how fast a recipe is


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What one recipe reached on the test split."""

    recipe: str
    bits_per_byte: float
    perplexity: float
    parameters: int
    steps: int
    tokens: int
    """That were trained on, those met again counted again."""
    seconds: float
    """Of the training, evaluations included."""


def bench_language(
    recipes: Sequence[str], minutes: float, progress: Progress, threads: int | None = None
) -> list[Learned]:
    """Train each recipe for so many minutes, one after the other, each in a process with the same threads.

    A few steps show how many there is time for; the training then has that many, so that its learning rate falls to the
    end of its schedule. Counting takes one step. The first row is what knowing nothing gives.
    """
    for name in recipes:
        if name not in RECIPES:
            raise unknown("recipe in this benchmark", name, RECIPES)
    if minutes <= 0:
        raise GradlabError(f"--minutes must be positive, got {minutes:g}.")
    if threads is not None and threads < 1:
        raise GradlabError(f"--threads must be at least 1, got {threads}.")
    arguments = ["--device", "cpu", f"train.threads={threads or os.cpu_count() or 1}"]
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        runs = [_train(name, minutes, progress, Path(folder), arguments) for name in recipes]
        return [*map(_uniform, runs[:1]), *map(_learned, runs)]


def _train(name: str, minutes: float, progress: Progress, folder: Path, arguments: Sequence[str]) -> Path:
    """The folder of a training that fits the time."""
    if name == _COUNTED:
        progress(f"{name}: counting")
        return _run(name, folder / name, arguments)
    progress(f"{name}: finding its speed")
    short = [f"train.steps={_TRIAL}", f"train.log_every={_TRIAL // 2}", "train.schedule=constant"]
    steps = affordable_steps(_lines(_run(name, folder / f"{name}-trial", [*arguments, *short])), 60 * minutes)
    progress(f"{name}: {counted(steps, 'step')} in about {minutes:g} min")
    # Machines differ in how many steps that is: the schedule keeps its shape.
    return _run(name, folder / name, [*arguments, f"train.steps={steps}", f"train.schedule.warmup={steps // 10}"])


def _run(name: str, out: Path, arguments: Sequence[str]) -> Path:
    call(["-m", "gradlab", "train", name, "--out", str(out), "--json", *arguments])
    return out


def _lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def affordable_steps(lines: Sequence[Mapping[str, Any]], seconds: float) -> int:
    """How many steps take so many seconds, by the metrics of a short training with two lines.

    A run evaluates before its first step and after every epoch: n/s + 1 times in n steps, for s steps an epoch.
    """
    half, whole = (line for line in lines if line["split"] == "train")
    step = (whole["seconds"] - half["seconds"]) / (whole["step"] - half["step"])
    evaluation = max(0.0, half["seconds"] - step * half["step"])
    steps_per_epoch = whole["step"] / whole["epoch"]
    return max(1, int((seconds - evaluation) / (step + evaluation / steps_per_epoch)))


def _learned(run: Path) -> Learned:
    result, data = (json.loads((run / name).read_text()) for name in ("result.json", "data.json"))
    recipe = tomllib.loads((run / "recipe.toml").read_text())
    once = recipe["recipe"] == _COUNTED
    windows = data["sizes"]["train"] if once else result["steps"] * recipe["train"]["batch_size"]
    return Learned(
        recipe=result["recipe"],
        bits_per_byte=result["test"]["bits_per_byte"],
        perplexity=result["test"]["perplexity"],
        parameters=result["parameters"],
        steps=result["steps"],
        tokens=windows * recipe["data"]["context"],
        seconds=result["seconds"],
    )


def _uniform(run: Path) -> Learned:
    """All tokens alike, on the same text."""
    test = json.loads((run / "result.json").read_text())["test"]
    vocabulary = json.loads((run / "data.json").read_text())["targets"]["tokens"]
    return Learned(
        recipe="uniform",
        bits_per_byte=math.log(vocabulary) / test["loss"] * test["bits_per_byte"],
        perplexity=vocabulary,
        parameters=0,
        steps=0,
        tokens=0,
        seconds=0.0,
    )
