"""The learning-rate range test: raise the rate step by step, and see where the loss falls fastest.

Smith 2017, "Cyclical learning rates for training neural networks", arXiv:1506.01186.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gradlab.data import Batch, Examples
from gradlab.errors import GradlabError, TrainingError
from gradlab.inline import InlineResult, charts, line_chart
from gradlab.markup import Html
from gradlab.studies.folder import StudyFolder, plain_recipe
from gradlab.studies.pages import range_test as pages
from gradlab.studies.practice import practice_plan, practise
from gradlab.tasks.objective import named
from gradlab.training.experiment import Experiment
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan
from gradlab.wording import counted

LOW, HIGH, STEPS = 1e-7, 10.0, 200
_MEMORY = 0.8  # share of the smoothed loss that a step keeps
_SAMPLE = 256  # examples that are judged after each step
_EXPLODED = 4.0  # times the best loss
_LEAST_FALL = 0.02  # of the first loss: less is noise

RULE = "the middle of the tenfold range of rates over which the loss falls fastest"


@dataclass(frozen=True, kw_only=True, repr=False)
class RangeTest(InlineResult):
    """The loss of each step at its rate, up to where it exploded, and the rate to train with, if there is one."""

    rates: list[float]
    losses: list[float]
    smoothed: list[float]
    suggestion: float | None
    stopped: str

    def _facts(self) -> list[str]:
        suggestion = "no suggestion" if self.suggestion is None else f"suggestion {self.suggestion:.3g}"
        return [counted(len(self.rates), "rate"), suggestion, self.stopped]

    def _content(self) -> list[Html]:
        exponents = [math.log10(rate) for rate in self.rates]
        return [charts(line_chart("loss", {"smoothed": (exponents, self.smoothed)}, x="log₁₀ of the rate"))]

    def to_json(self) -> dict[str, Any]:
        return {"study": "find-lr", "rule": RULE, **asdict(self)}


def find_rate(
    experiment: Experiment,
    *,
    low: float = LOW,
    high: float = HIGH,
    steps: int = STEPS,
    out: Path | None = None,
    command: str = "gradlab train RECIPE",
) -> RangeTest:
    """Train a copy of the fresh model while the rate rises exponentially from `low` to `high`.

    The experiment itself stays as it is, and no run is made. With `out`, the result and its picture are written there,
    and beside them the command that trains with the suggestion.
    """
    if out is not None and out.exists():
        raise GradlabError(f"{out} exists already. Name another folder: --out FOLDER.")
    result = measure_rates(partial(practise, experiment), experiment.plan, experiment.splits["train"], low, high, steps)
    if out is not None:
        name = experiment.recipe.name
        folder = StudyFolder.open(out, {"study": "find-lr", "recipe": plain_recipe(experiment.recipe)})
        folder.finish({"recipe": name, **result.to_json()}, pages.report(result, name, out, command))
    return result


def measure_rates(train: Callable[..., Any], plan: Plan, split: Any, low: float, high: float, steps: int) -> RangeTest:
    """What `train`, which trains a copy of a model by a plan, a rate and observers, comes to at each rate."""
    if plan.searches:
        raise GradlabError(
            "The range test is for optimisers whose steps are as long as the learning rate says; "
            f"{plan.optimizer.name} finds that length by itself. Leave train.lr=1."
        )
    sample = split.sample(_SAMPLE).batch(slice(None)) if isinstance(split, Examples) else split.peek()
    if sample is None:
        raise GradlabError("The range test looks at the same training examples again and again, and a stream has none.")
    watch = _Watch(sample)

    def rising(step: int) -> float:
        return float(low * (high / low) ** (step / (steps - 1)))

    try:
        train(practice_plan(plan, steps), rate=rising, observers=[watch])
    except TrainingError:
        watch.stopped = "a gradient that is not finite"
    return RangeTest(
        rates=watch.rates,
        losses=watch.losses,
        smoothed=watch.smoothed,
        suggestion=suggest(watch.rates, watch.losses),
        stopped=watch.stopped or "the end of the range",
    )


class _Watch(Observer):
    """After every step notes its rate and the loss of some training examples, and stops when the loss explodes.

    The examples are the same each time: batches differ more from each other than one small step changes their loss.
    They are judged as they are trained on, since the running averages of batch normalisation lag behind at first.

    Exploded is 4 times the best smoothed loss so far. A common rule, 3 times the first cost, would go on for long after
    a loss has fallen far and risen again, and would stop where one noisy step is high.
    """

    every = 1

    def __init__(self, sample: Batch) -> None:
        self.sample = sample
        self.rates: list[float] = []
        self.losses: list[float] = []
        self.smoothed: list[float] = []
        self.stopped = ""

    def step(self, training: Training) -> None:
        with torch.no_grad():
            losses = training.players[0].loss(training.model)(self.sample)
        loss = sum(total.item() / float(count) for total, count in named(losses, "loss").values())
        if not math.isfinite(loss):
            self.stopped = "a loss that is not finite"
            training.request("stop")
            return
        self.rates.append(training.lr(training.progress.step - 1))
        self.losses.append(loss)
        self.smoothed = smooth(self.losses)
        if self.smoothed[-1] > _EXPLODED * min(self.smoothed):
            self.stopped = f"a loss of {_EXPLODED:g} times the best"
            training.request("stop")


def smooth(values: Sequence[float], memory: float = _MEMORY) -> list[float]:
    r"""Exponential moving average with its start corrected: $m_t = β m_{t-1} + (1 - β) v_t$, over $1 - β^t$.

    >>> smooth([2.0, 0.0], memory=0.5)
    [2.0, 0.6666666666666666]
    """
    averages, mean = [], 0.0
    for step, value in enumerate(values, 1):
        mean = memory * mean + (1 - memory) * value
        averages.append(mean / (1 - memory**step))
    return averages


def suggest(rates: Sequence[float], losses: Sequence[float]) -> float | None:
    """The middle of the tenfold range over which the loss falls fastest, to two digits; None where it never fell.

    The slope over log rate is that of the least-squares line through a whole decade, which single steps cannot shake.
    """
    smoothed = smooth(losses)
    if len(smoothed) < 3 or min(smoothed) > (1 - _LEAST_FALL) * smoothed[0]:
        return None
    lowest = smoothed.index(min(smoothed))
    decade = sum(rate < 10 * rates[0] for rate in rates)
    half = min(decade, lowest) // 2
    middle = min(range(half, lowest - half + 1), key=lambda i: _slope(losses[i - half : i + half + 1]))
    return float(f"{rates[middle]:.1e}")


def _slope(values: Sequence[float]) -> float:
    """Of the least-squares line through evenly spaced values, up to a positive factor that all windows share."""
    centre = (len(values) - 1) / 2
    return sum((i - centre) * value for i, value in enumerate(values))
