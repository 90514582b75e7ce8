"""The shared memory of a sweep: an Optuna study, from which any number of processes take their trials."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.trial import FrozenTrial, Trial, TrialState

from gradlab.claims import Claim, alone
from gradlab.errors import GradlabError, one_line
from gradlab.files import new_file
from gradlab.printable import without_passwords
from gradlab.recipe import Recipe
from gradlab.studies.space import Dimension

ENDED = (TrialState.COMPLETE, TrialState.PRUNED)
_PATIENCE = 60  # seconds that a process waits for others to finish writing
_STARTUP = 5  # trials that are never pruned, since there is nothing to compare them with


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """Everything that a process must know to take part."""

    recipe: Recipe
    dimensions: list[Dimension]
    trials: int
    out: Path
    storage: str
    device: str
    metric: str
    maximise: bool
    evaluations: int
    """How many evaluations a full training makes, about."""
    settings: dict[str, Any]

    @property
    def own_storage(self) -> bool:
        return self.storage == own_storage(self.out)

    @property
    def place(self) -> str:
        """Where trials of this folder run: their locks mean nothing elsewhere."""
        return f"{socket.gethostname()}:{self.out.resolve()}"

    def folder(self, number: int) -> Path:
        return self.out / "trials" / f"trial-{number}"


def own_storage(out: Path) -> str:
    return f"sqlite:///{(out / 'study.db').absolute()}"


class SeededByTrial(BaseSampler):
    """Optuna's TPE, its random numbers a function of (seed, number of the trial) alone.

    One generator for all trials would draw the first points again in every process, and after every restart.
    """

    def __init__(self, seed: int):
        self.seed = seed
        self.inner = TPESampler(seed=seed)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        self.inner = TPESampler(seed=(self.seed + 7919 * trial.number) % 2**32)
        self.inner.before_trial(study, trial)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self.inner.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self.inner.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self.inner.sample_independent(study, trial, param_name, param_distribution)


def open_search(plan: SearchPlan) -> optuna.Study:
    """The study, made if nobody has; one that was asked something else is refused."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with alone(plan.out / ".search.lock"), storage_errors(plan.storage):
        if plan.own_storage and not (plan.out / "study.db").exists():
            with new_file(plan.out / "study.db") as new:  # a process that dies meanwhile must not leave half a database
                _open(plan, f"sqlite:///{new.absolute()}")
        return _open(plan, plan.storage)


def _open(plan: SearchPlan, url: str) -> optuna.Study:
    waiting = {"connect_args": {"timeout": _PATIENCE}} if url.startswith("sqlite") else {}
    study = optuna.create_study(
        storage=optuna.storages.RDBStorage(url, engine_kwargs=waiting),
        study_name=plan.out.name,
        load_if_exists=True,
        direction="maximize" if plan.maximise else "minimize",
        sampler=SeededByTrial(int(plan.recipe.train.get("seed", 0))),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=_STARTUP, n_warmup_steps=max(1, plan.evaluations // 5)),
    )
    settings = json.dumps(plan.settings, sort_keys=True)
    if study.user_attrs.get("asked", settings) != settings:
        raise GradlabError(
            f"The storage holds another sweep by the name of {plan.out.name}, with another recipe or other ranges. "
            "Name another folder: --out FOLDER."
        )
    study.set_user_attr("asked", settings)
    return study


@contextmanager
def storage_errors(url: str, kind: type[GradlabError] = GradlabError) -> Iterator[None]:
    """What a database says, in our words: out of reach, locked by others for too long, damaged, or of another make."""
    import alembic.util
    import sqlalchemy.exc

    errors = sqlalchemy.exc.SQLAlchemyError, alembic.util.CommandError, optuna.exceptions.StorageInternalError
    try:
        yield
    except (*errors, ImportError, json.JSONDecodeError) as error:
        said = one_line(Exception(without_passwords(str(error)))).rstrip(".")
        advice = "Mend it, or name another folder: --out FOLDER."
        raise kind(f"The storage {without_passwords(url)} cannot be used: {said}. {advice}") from None


def check_storage(url: str) -> None:
    """Can a database be opened there?"""
    with storage_errors(url):
        optuna.storages.RDBStorage(url)


def claim_trial(plan: SearchPlan, study: optuna.Study) -> tuple[Trial, Claim] | None:
    """A trial to work on: one that a dead process left behind, or a new one; None when there are enough."""
    (plan.out / "trials").mkdir(exist_ok=True)
    with alone(plan.out / ".search.lock"):
        known = study.get_trials(deepcopy=False)
        ended = sum(trial.state in ENDED for trial in known)
        running = [trial for trial in known if trial.state == TrialState.RUNNING]
        for trial in running:
            claim = _claim(plan, trial.number)
            if _ours(plan, trial) and claim.take() and claim.certain:
                return Trial(study, trial._trial_id), claim
        if ended + len(running) >= plan.trials:
            return None
        new = study.ask()
        claim = _claim(plan, new.number)
        claim.take()
        new.set_user_attr("place", plan.place)
        return new, claim


def _claim(plan: SearchPlan, number: int) -> Claim:
    return Claim(plan.out / "trials" / f".trial-{number}.lock")


def _ours(plan: SearchPlan, trial: FrozenTrial) -> bool:
    """Whether the trial began in this folder. One that says nothing was left before it could, in our own storage."""
    place: str | None = trial.user_attrs.get("place")
    return place == plan.place if place is not None else plan.own_storage


def count_ended(study: optuna.Study) -> int:
    return sum(trial.state in ENDED for trial in study.get_trials(deepcopy=False))


def suggest(plan: SearchPlan, trial: Trial) -> Mapping[str, Any]:
    """The values of a trial; those that it has already stay as they are."""
    return {dimension.key: dimension.suggest(trial) for dimension in plan.dimensions}
