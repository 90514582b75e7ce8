"""What to look at before a long training: a few minutes of doubt that save hours.

Each check trains for a moment at most, on copies: the experiment stays as it is, and nothing is written.
"""

import copy
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.data import Examples
from gradlab.errors import GradlabError, TrainingError
from gradlab.registry import Part
from gradlab.studies.practice import History, practice_plan, practise
from gradlab.tasks import Supervised, Task, compare, evaluate, predict, tasks
from gradlab.training.experiment import Experiment
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan
from gradlab.training.regularisation import penalty
from gradlab.wording import counted, number

State = Literal["passed", "warning", "failed", "skipped"]

_NEAR, _FAR = 2.0, 5.0  # times the expected initial loss, either way
_FIRST_STEPS = 20  # whose updates are judged
_SHORT = 200  # steps of a short training
_SAMPLE = 500  # examples that it is judged by
_TOGETHER = 32  # of them, whose outputs are in memory at once
_BEYOND_CHANCE = 1.64  # standard errors: one in twenty would be so far above zero by chance
_SUBSET, _SUBSET_STEPS = 24, 500
_FITTED = 0.05  # of the loss of the best constant: what counts as overfitted
_RATIOS = (1e-4, 1e-2)
_RASH = 1.0  # an update as long as the weights themselves is no small step any more


@dataclass(frozen=True, kw_only=True)
class Check:
    """One question, its answer in numbers, and what to do where the answer is not the one hoped for."""

    name: str
    state: State
    measured: str
    advice: str = ""


class ChecksFailed(GradlabError):
    """A check before the training failed. Nothing has been written."""

    exit_code = 3


def run_checks(experiment: Experiment) -> list[Check]:
    """All checks, in the order of the course, cheap ones first; the first two where there are no inputs and targets."""
    if not isinstance(experiment.task, Supervised):
        return [initial_loss(experiment), regularisation_raises_the_loss(experiment)]
    short = _Short.of(experiment)
    checks: list[Callable[[], Check]] = [
        lambda: initial_loss(experiment),
        lambda: regularisation_raises_the_loss(experiment),
        lambda: small_subset_is_learned(experiment),
        lambda: update_ratios(experiment, short),
        lambda: inputs_matter(experiment, short),
    ]
    return [check() for check in checks]


def failures(checks: list[Check]) -> ChecksFailed | None:
    """The error that names the checks that failed, if any did."""
    failed = [check.name for check in checks if check.state == "failed"]
    if not failed:
        return None
    return ChecksFailed(
        f"{len(failed)} of {counted(len(checks), 'check')} failed: {', '.join(failed)}. Nothing was trained or "
        "written; leave out --check to train anyway."
    )


def initial_loss(experiment: Experiment) -> Check:
    """A fresh model should know nothing: its loss is that of guessing."""
    expected, formula = experiment.task.expected_initial_loss()
    loss = experiment.initial_loss()
    words = f"{number(loss)}, expected about {number(expected)} ({formula})"
    if experiment.plan.from_run is not None:
        return Check(name="initial loss", state="skipped", measured=f"{number(loss)}; the weights are no fresh ones")
    if not math.isfinite(expected):
        measured = "not known before the first batch" if math.isnan(loss) else number(loss)
        return Check(name="initial loss", state="skipped", measured=f"{measured}; this task expects no value")
    times = loss / expected
    if 1 / _NEAR <= times <= _NEAR:
        return Check(name="initial loss", state="passed", measured=words)
    advice = (
        f"The first outputs are large: {_smaller_outputs(experiment)}."
        if times > 1
        else "The fresh model knows too much: does an input hold the target?"
    )
    state: State = "warning" if 1 / _FAR <= times <= _FAR else "failed"
    return Check(name="initial loss", state=state, measured=words, advice=advice)


def _smaller_outputs(experiment: Experiment) -> str:
    """How the first outputs become smaller; inputs that are standardised already are not at fault."""
    x = experiment.splits["train"].sample(_SAMPLE).inputs[:]
    standardised = experiment.recipe.data.values.get("preprocess", "standardise") == "standardise" or (
        not isinstance(x, Tensor) or (abs(x.mean().item()) < 0.5 and 0.5 < x.std(correction=0).item() < 2)
    )
    return ("" if standardised else "standardise the inputs (data.preprocess), or ") + "start from smaller weights"


def regularisation_raises_the_loss(experiment: Experiment) -> Check:
    """Cranked up, the penalty must show in what is minimised."""
    plan, model = experiment.plan, experiment.model
    strengths = [0.0, 1e-2, 1.0]
    known = experiment.initial_loss()
    loss = 0.0 if math.isnan(known) else known  # of a stream the penalty alone is known
    with torch.no_grad():
        plain = replace(plan, l1=0.0, optimizer=Part("sgd"))  # which takes every penalty
        raised = [loss + penalty(model, replace(plain, weight_decay=s)).item() for s in strengths]
    measured = ", ".join(f"{number(value)} with λ={s:g}" for s, value in zip(strengths, raised, strict=True))
    if raised[0] < raised[1] < raised[2]:
        return Check(name="regularisation", state="passed", measured=f"loss {measured}")
    advice = "No weight is penalised: has the model trainable weights? train.decay_all=true takes in the biases."
    return Check(name="regularisation", state="failed", measured=f"loss {measured}", advice=advice)


def small_subset_is_learned(experiment: Experiment) -> Check:
    """A few examples, all classes among them, must be learned by heart when nothing holds the model back."""
    subset = _subset(experiment)
    name = f"{counted(len(subset), 'example')} by heart"
    own = _overfit(experiment, subset, _unregularised(experiment.plan))
    if own.fitted:
        return Check(name=name, state="passed", measured=own.words)
    strong = _unregularised(replace(experiment.plan, optimizer=Part("adam"), lr=1e-2))
    other = _overfit(experiment, subset, strong)
    if other.fitted:
        advice = (
            f"With train.optimizer=adam train.lr=0.01 it is {other.words}: the model can, so this optimiser or "
            "learning rate is at fault. Try --find-lr."
        )
    else:
        advice = (
            f"With Adam at 0.01 it is {other.words}: the model is too small, or the same inputs come with different "
            "targets."
        )
    return Check(name=name, state="failed", measured=own.words, advice=advice)


def update_ratios(experiment: Experiment, short: "_Short") -> Check:
    """How far one of the first steps moves each layer: about a thousandth of its length."""
    name = "update / weight"
    if experiment.plan.searches:
        measured = f"{experiment.plan.optimizer.name} chooses the length of its steps by itself"
        return Check(name=name, state="skipped", measured=measured)
    if short.diverged:
        return Check(
            name=name, state="failed", measured="training diverged at once", advice="Lower train.lr, or try --find-lr."
        )
    layers = list(short.ratios[0]) if short.ratios else []
    if not layers:
        return Check(name=name, state="skipped", measured="the model has no weight matrix")
    medians = {layer: statistics.median(line[layer] for line in short.ratios) for layer in layers}
    low, high = min(medians.values()), max(medians.values())
    measured = f"{low:.1e} to {high:.1e} in the first {len(short.ratios)} steps, about 1e-03 is healthy"
    # Rash steps make the weights so long that later ones look short beside them: the very first one tells.
    first = max(short.ratios[0].values())
    if first > _RASH:
        measured = f"{first:.1e} in the very first step, about 1e-03 is healthy"
        advice = "Steps are rash: lower train.lr, or try --find-lr."
        return Check(name=name, state="failed", measured=measured, advice=advice)
    if low < _RATIOS[0]:
        slow = min(medians, key=lambda layer: medians[layer])
        advice = f"{slow} hardly moves: raise train.lr, or try --find-lr."
        return Check(name=name, state="warning", measured=measured, advice=advice)
    if high > _RATIOS[1]:
        usual = ", as usual for Adam at the start" if "adam" in experiment.plan.optimizer.name else ""
        advice = f"Large steps{usual}. If the loss is restless, lower train.lr or warm up."
        return Check(name=name, state="warning", measured=measured, advice=advice)
    return Check(name=name, state="passed", measured=measured)


def inputs_matter(experiment: Experiment, short: "_Short") -> Check:
    """The same training on inputs that are all zero must end worse, or the inputs are not used."""
    name = "inputs matter"
    if short.diverged:
        return Check(name=name, state="skipped", measured="training diverged before it could be judged")
    blank = _Short.of(experiment, blank=True)
    if blank.diverged:
        return Check(name=name, state="skipped", measured="training on zeros diverged, and cannot be compared")
    gains = np.subtract(blank.losses, short.losses)
    error = gains.std(ddof=1) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    measured = f"loss {number(short.loss)} after {counted(short.steps, 'step')}, {number(blank.loss)} when fed zeros"
    if gains.mean() > _BEYOND_CHANCE * error:
        return Check(name=name, state="passed", measured=measured)
    advice = (
        f"Its training examples it knows (loss {number(short.train_loss)}), but that is no use on held-out ones: it "
        "overfits at once, or the targets do not belong to the inputs."
        if short.train_loss < blank.train_loss
        else "Do the targets belong to the inputs? Were rows shuffled apart, or the inputs all made equal?"
    )
    return Check(name=name, state="failed", measured=measured, advice=advice)


# The short trainings behind the checks.


@dataclass(frozen=True, kw_only=True)
class _Short:
    """A short training on the real examples, or on zeros in their place: its losses at the end, and its first updates.

    `losses` are those of held-out examples, where there are any.
    """

    losses: list[float]
    train_loss: float
    steps: int
    ratios: list[dict[str, float]]
    diverged: bool = False

    @property
    def loss(self) -> float:
        return statistics.fmean(self.losses)

    @classmethod
    def of(cls, experiment: Experiment, blank: bool = False) -> "_Short":
        plan = experiment.plan
        # Those that search do in a few steps what others do in hundreds.
        steps = min(experiment.steps, 5 if plan.searches else _SHORT)
        history = History()
        train = _blank(experiment.splits["train"]) if blank else experiment.splits["train"]
        try:
            model, progress = practise(experiment, practice_plan(plan, steps), train, observers=[history])
        except TrainingError:
            return cls(losses=[], train_loss=math.nan, steps=len(history.lines), ratios=[], diverged=True)
        splits = ("validation" if len(experiment.dataset.validation) else "train", "train")
        samples = [experiment.splits[split].sample(_SAMPLE) for split in splits]
        held, seen = (_losses(model, experiment.task, _blank(some) if blank else some) for some in samples)
        ratios = [dict(line["update_ratio"]) for line in history.lines[:_FIRST_STEPS]]
        return cls(losses=held, train_loss=statistics.fmean(seen), steps=progress.step, ratios=ratios)


def _losses(model: nn.Module, task: Task, examples: Examples) -> list[float]:
    """The loss of each example."""
    assert isinstance(task, Supervised)
    losses = []
    for start in range(0, len(examples), _TOGETHER):
        rows = slice(start, start + _TOGETHER)
        outputs, targets = predict(model, examples.inputs[rows]), examples.targets[rows]
        pairs = (task.loss(outputs[i : i + 1], targets[i : i + 1]) for i in range(len(targets)))
        losses += [total.item() / float(count) for total, count in pairs]
    return losses


def _blank(examples: Examples) -> Examples:
    """The same targets beside inputs of nothing but zeros."""
    first = examples.inputs[:1]
    zeros = torch.zeros_like(first).expand(len(examples), *first.shape[1:])
    return Examples({**examples.parts, "inputs": zeros}, examples.rows)


@dataclass(frozen=True)
class _Overfitted:
    fitted: bool
    words: str


def _overfit(experiment: Experiment, subset: Examples, plan: Plan) -> _Overfitted:
    """Train on the subset alone until it is known by heart, or the patience is at its end."""
    task = _plain_task(experiment)
    model = _without_dropout(experiment.model)
    watch = _UntilFitted(task, subset, model)
    try:
        practise(experiment, plan, subset, model=model, task=task, observers=[watch])
    except TrainingError:
        return _Overfitted(False, f"diverged after {counted(watch.steps, 'step')}")
    return _Overfitted(watch.fitted, f"{watch.words} after {counted(watch.steps, 'step')}")


class _UntilFitted(Observer):
    """Looks now and then whether the examples are known by heart, and stops the training when they are."""

    every = 10

    def __init__(self, task: Task, subset: Examples, model: nn.Module):
        self.task, self.subset = task, subset
        self.fitted, self.steps, self.words = False, 0, ""
        # The least loss of a count is not zero, but its least deviance is.
        self.measure = "deviance" if "deviance" in task.metrics else "loss"
        # Of a task without baselines, the fresh model stands for one that knows nothing.
        constant = next(iter(task.baselines(subset, model).values()), model)
        self.constant = compare({"constant": constant}, task, subset)["constant"][self.measure]

    def step(self, training: Training) -> None:
        self._look(training)
        if self.fitted:
            training.request("stop")

    def end(self, training: Training) -> None:
        self._look(training)

    def _look(self, training: Training) -> None:
        figures = evaluate(training.model, self.task, self.subset)
        self.steps = training.progress.step
        accuracy = figures.get("accuracy")
        reached = figures[self.measure]
        self.words = f"{self.measure} {number(reached)}" + (
            f", accuracy {accuracy:.4g}" if accuracy is not None else ""
        )
        self.fitted = accuracy == 1 if accuracy is not None else reached <= _FITTED * self.constant


def _subset(experiment: Experiment) -> Examples:
    """A few training examples, each class in turn, and no more than the model has weights for."""
    train = experiment.dataset.train
    classes = len(experiment.dataset.targets.classes or [])
    outputs = predict(experiment.model, train.inputs[:1].to(experiment.device)).numel()
    most = max(classes, 2, min(_SUBSET, experiment.parameters // outputs))
    rows = _each_class_in_turn(train.targets) if classes else np.arange(len(train)) * 7919 % len(train)
    chosen = np.sort(rows[: min(most, len(train))])
    picked = Examples(train.batch(torch.from_numpy(chosen)), train.rows[chosen])
    subset: Examples = experiment.task.encoded(picked).to(experiment.device)
    return subset


def _each_class_in_turn(labels: Tensor) -> Any:
    """Indices ordered so that the first of every class come before the second of any."""
    values = labels.numpy()
    order = np.argsort(values, kind="stable")
    place = np.arange(len(values)) - np.searchsorted(values[order], values[order])
    return order[np.argsort(place, kind="stable")]


def _unregularised(plan: Plan) -> Plan:
    free = {"weight_decay": 0.0, "l1": 0.0, "max_norm": None, "accumulate": 1}
    return practice_plan(plan, _SUBSET_STEPS, batch_size="full", log_every=_SUBSET_STEPS, **free)


def _plain_task(experiment: Experiment) -> Task:
    """The task without its own regularisers, such as smoothed labels."""
    part = tasks.resolve(Part(experiment.recipe.task.name), "task")
    return tasks.build(part, experiment.dataset.targets)


def _without_dropout(model: nn.Module) -> nn.Module:
    free = copy.deepcopy(model)
    for module in free.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
    return free
