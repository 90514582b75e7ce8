"""A search over any knobs of a recipe, judged on the validation split alone."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from gradlab.errors import GradlabError, TrainingError, unknown
from gradlab.files import check_content
from gradlab.files.formats import TrialOutcome
from gradlab.markup import Html
from gradlab.recipe import Recipe
from gradlab.report import write_report
from gradlab.run import open_run
from gradlab.studies.folder import StudyFolder, plain_recipe
from gradlab.studies.inline import InlineStudy, figure_rows
from gradlab.studies.knobs import typed
from gradlab.studies.members import tell_of_changes
from gradlab.studies.pages import sweep as pages
from gradlab.studies.search import ENDED, SearchPlan, check_storage, open_search, own_storage, storage_errors
from gradlab.studies.space import read_space
from gradlab.studies.trial import best_trial, keep_the_best
from gradlab.studies.workers import NotifyTrial, work, work_together
from gradlab.training.environment import find_device
from gradlab.training.experiment import Experiment, resolve
from gradlab.training.observers import Observer
from gradlab.wording import counted, name_of, number

_ENOUGH = 10  # trials before it means anything to ask which knob matters


@dataclass(frozen=True, kw_only=True)
class SweepTrial:
    """One trial: its values, and the metric on the validation split. One that was stopped has the last it reached."""

    number: int
    changes: dict[str, Any]
    ended: str
    value: float | None
    steps: int | None = None
    seconds: float | None = None
    test: dict[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return self.ended == "complete"


@dataclass(frozen=True, kw_only=True, repr=False)
class Sweep(InlineStudy):
    """All trials that have ended, in their order."""

    recipe: str
    path: Path
    metric: str
    higher_is_better: bool
    space: dict[str, str]
    fixed: dict[str, str]
    log: list[str]
    """The knobs that were searched in the logarithm."""
    trials: list[SweepTrial]
    importance: dict[str, float]

    def _facts(self) -> list[str]:
        best = f"best validation {name_of(self.metric)} {number(self.best.value)}" if self.best else "no trial complete"
        return [self.recipe, counted(len(self.trials), "trial"), best]

    def _content(self) -> list[Html]:
        head = ["trial", f"validation {name_of(self.metric)}", *self.space]
        rows = [(t.number, t.value, *(t.changes.get(key) for key in self.space)) for t in self.ranked]
        return [figure_rows(head, rows)]

    @property
    def ranked(self) -> list[SweepTrial]:
        """Complete trials, the best first."""
        sign = -1 if self.higher_is_better else 1
        complete = [trial for trial in self.trials if trial.complete and trial.value is not None]
        return sorted(complete, key=lambda t: (sign * (t.value or 0.0), t.number))

    @property
    def best(self) -> SweepTrial | None:
        return next(iter(self.ranked), None)

    @property
    def tied(self) -> list[SweepTrial]:
        """The trials that are as good as the best; none where that is alone."""
        best = [trial for trial in self.ranked if self.best is not None and trial.value == self.best.value]
        return best if len(best) > 1 else []

    @property
    def tie(self) -> str:
        """In words that the best trial is only the first of several, where it is."""
        if not self.tied:
            return ""
        among = "all" if len(self.tied) == len(self.ranked) else "of the trials,"
        return (
            f"{among} {len(self.tied)} have the same validation {name_of(self.metric)}, {number(self.tied[0].value)}: "
            "it does not tell them apart, and the first stands for them"
        )

    @property
    def overrides(self) -> str:
        """The best values as `gradlab train` takes them."""
        values = {key: typed(value) for key, value in (self.best.changes if self.best else {}).items()}
        return shlex.join(f"{key}={text}" for key, text in {**self.fixed, **values}.items())

    @property
    def best_run(self) -> Path | None:
        """The folder of the best trial, unless that ran on another machine."""
        path = self.run(self.best) if self.best else None
        return path if path is not None and path.exists() else None

    def run(self, trial: SweepTrial) -> Path:
        return self.path / "trials" / f"trial-{trial.number}"

    def to_json(self) -> dict[str, Any]:
        return {
            "study": "sweep",
            "out": str(self.path),
            "recipe": self.recipe,
            "metric": self.metric,
            "space": self.space,
            "tied": [trial.number for trial in self.tied],
            "best": asdict(self.best) if self.best else None,
            "run": str(self.best_run) if self.best_run else None,
            "overrides": self.overrides if self.best else None,
            "importance": self.importance,
            "trials": [asdict(trial) for trial in self.trials],
        }


def sweep(
    recipe: Recipe,
    space: Mapping[str, str],
    trials: int,
    out: Path,
    device: str = "auto",
    *,
    jobs: int = 1,
    storage: str | None = None,
    metric: str | None = None,
    observers: Sequence[Observer] = (),
    notify: NotifyTrial | None = None,
    command: str = "gradlab train RECIPE",
) -> Sweep:
    """Try values of the knobs in `space`, and return what came out, the best of it in a run folder kept in full.

    The same call with the same `out` goes on with a search that was stopped, and several processes may work on one.
    """
    plan = plan_search(recipe, space, trials, out, device, jobs=jobs, storage=storage, metric=metric)
    folder = StudyFolder.open(out, plan.settings)
    tell_of_changes(sorted((out / "trials").glob("trial-*")))
    with storage_errors(plan.storage, TrainingError):
        if jobs == 1:
            work(plan, observers, notify)
        else:
            work_together(plan, jobs, notify)
        result = gather(plan, {key: text for key, text in space.items() if key not in plan.settings["space"]})
    if result.best_run is not None and not (result.best_run / "report.html").exists():
        write_report(open_run(result.best_run))
    folder.finish(result.to_json(), pages.report(result, command))
    return result


def plan_search(
    recipe: Recipe,
    space: Mapping[str, str],
    trials: int,
    out: Path,
    device: str,
    *,
    jobs: int,
    storage: str | None,
    metric: str | None,
) -> SearchPlan:
    """Everything checked, before there is a folder."""
    for name, value in (("--trials", trials), ("--jobs", jobs)):
        if value < 1:
            raise GradlabError(f"{name} {value} is not valid: it takes a whole number from 1 on.")
    recipe, dimensions = read_space(recipe, space)
    if storage is not None:
        check_storage(storage)
    first = recipe.override({one.key: one.samples[0] for one in dimensions})
    experiment = Experiment.of(first, find_device(device))
    if not len(experiment.dataset.validation):
        raise GradlabError("A sweep is judged on the validation split, and there is none. Set data.validation=0.15.")
    task = experiment.task
    metric = metric or task.headline
    if metric not in (*task.figure_names, "loss"):
        raise unknown("metric", metric, [*task.figure_names, "loss"])
    settings = {"study": "sweep", "metric": metric, "space": {one.key: str(one) for one in dimensions}}
    return SearchPlan(
        recipe=recipe,
        dimensions=dimensions,
        trials=trials,
        out=out,
        storage=storage or own_storage(out),
        device=device,
        metric=metric,
        maximise=task.higher_is_better(metric),
        evaluations=experiment.steps // experiment.evaluation_interval,
        settings={**settings, "recipe": plain_recipe(resolve(recipe))},
    )


def gather(plan: SearchPlan, fixed: dict[str, str]) -> Sweep:
    """What the search knows by now."""
    study = open_search(plan)
    keep_the_best(plan, study)  # once more: a process may have been killed between the end of a trial and its tidying
    known = study.get_trials(deepcopy=False, states=ENDED)
    best = best_trial(known, plan.maximise)
    return Sweep(
        recipe=plan.recipe.name,
        path=plan.out,
        metric=plan.metric,
        higher_is_better=plan.maximise,
        space={one.key: str(one) for one in plan.dimensions},
        fixed=fixed,
        log=[one.key for one in plan.dimensions if getattr(one, "log", False)],
        trials=[sweep_trial(trial) for trial in known],
        importance=_importance(study, known) if best is not None else {},
    )


def sweep_trial(trial: FrozenTrial) -> SweepTrial:
    last = trial.intermediate_values[max(trial.intermediate_values)] if trial.intermediate_values else None
    return SweepTrial(
        number=trial.number,
        changes=dict(trial.params),
        value=trial.value if trial.state == TrialState.COMPLETE else last,
        **check_content(trial.user_attrs.get("outcome"), TrialOutcome, f"The storage (trial {trial.number})"),
    )


def _importance(study: optuna.Study, known: Sequence[FrozenTrial]) -> dict[str, float]:
    """The share of each knob in what separates the best trials from the others (PED-ANOVA), where there are enough."""
    complete = [trial for trial in known if trial.state == TrialState.COMPLETE]
    if len(complete) < _ENOUGH or len(complete[0].params) < 2 or len({trial.value for trial in complete}) < 2:
        return {}
    shares = optuna.importance.get_param_importances(study)
    return {key: value for key, value in shares.items() if math.isfinite(value)}
