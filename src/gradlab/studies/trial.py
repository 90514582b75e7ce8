"""One trial of a sweep: train, report to the search on the way, and give up early where there is no hope."""

import math
import shutil
from collections.abc import Collection, Sequence
from typing import Any

import optuna
import torch
from optuna.trial import FrozenTrial, Trial, TrialState

from gradlab.claims import alone
from gradlab.errors import GradlabError, Interrupted, TrainingError
from gradlab.studies.members import Ending, trained
from gradlab.studies.search import ENDED, SearchPlan, suggest
from gradlab.training.loop import Training
from gradlab.training.observers import Line, Observer

_REPORTS = 20  # of a training, at most: each is a transaction on the disk


class Pruned(Exception):
    """Raised in the middle of a training that is worse than the median of those before it."""


class Reporter(Observer):
    """Reports to the search the metric of each evaluation (of some, where there are many), once."""

    def __init__(self, trial: Trial, metric: str, evaluations: int, reported: Collection[int] = ()):
        self.trial, self.metric, self.reported = trial, metric, set(reported)
        self.stride = math.ceil(max(1, evaluations) / _REPORTS)

    def evaluation(self, training: Training, line: Line) -> None:
        # By their number, which means the same share of the training whatever the batch size.
        number = math.ceil(training.progress.step / training.evaluate_every)
        value = line.get(self.metric)
        if number == 0 or number % self.stride or number in self.reported or value is None or not math.isfinite(value):
            return
        self.reported.add(number)
        self.trial.report(value, number)
        if training.progress.step < training.total_steps and self.trial.should_prune():
            raise Pruned


def run_trial(
    plan: SearchPlan, study: optuna.Study, trial: Trial, device: torch.device, observers: Sequence[Observer] = ()
) -> FrozenTrial:
    """Train the trial to its end, wherever it stood, and report its result to the search."""
    recipe = plan.recipe.override(suggest(plan, trial))
    ending = Ending()
    reported = study.get_trials(deepcopy=False)[trial.number].intermediate_values  # by a process that did not end it
    watching = [*observers, Reporter(trial, plan.metric, plan.evaluations, reported), ending]
    try:
        run = trained(plan.folder(trial.number), recipe, device, watching)
    except Pruned:
        return _end(plan, study, trial, "pruned")
    except Interrupted:
        raise
    except TrainingError:
        if ending.why != "diverged":
            raise
        return _end(plan, study, trial, "diverged")
    except GradlabError as error:
        # These values do not go together. The next ones may: one bad corner is no reason to end a long search.
        return _end(plan, study, trial, f"refused: {error}")
    value = run.validation.get(plan.metric)
    figures = {key: run.finished[key] for key in ("steps", "seconds", "test")}
    return _end(plan, study, trial, "complete" if value is not None else "undefined", value, **figures)


def _end(
    plan: SearchPlan, study: optuna.Study, trial: Trial, ended: str, value: float | None = None, **figures: Any
) -> FrozenTrial:
    trial.set_user_attr("outcome", {"ended": ended, **figures})
    state = TrialState.COMPLETE if value is not None else TrialState.PRUNED
    with alone(plan.out / ".search.lock"):
        ended_trial = study.tell(trial, value, state=state)
        keep_the_best(plan, study)
    return ended_trial


def keep_the_best(plan: SearchPlan, study: optuna.Study) -> None:
    """Of the best run everything is kept; of the others what was asked and what came out, without the weights."""
    known = study.get_trials(deepcopy=False, states=ENDED)
    best = best_trial(known, plan.maximise)
    for trial in known:
        if best is None or trial.number != best.number:
            shutil.rmtree(plan.folder(trial.number) / "checkpoints", ignore_errors=True)


def best_trial(trials: Sequence[FrozenTrial], maximise: bool) -> FrozenTrial | None:
    """The first of the best, so that a later equal one does not take its place."""
    complete = [t for t in trials if t.state == TrialState.COMPLETE and t.value is not None]
    return min(complete, key=lambda t: (-t.value if maximise else t.value, t.number), default=None)  # type: ignore[operator]
