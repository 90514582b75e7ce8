"""One recipe trained with each of several values of a knob, or of two: where it underfits, and where it overfits."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gradlab.data import Dataset, Raw
from gradlab.errors import GradlabError
from gradlab.files.formats import Figures
from gradlab.inline import InlineResult
from gradlab.markup import Html
from gradlab.recipe import Recipe
from gradlab.run import Run, open_run
from gradlab.studies.folder import StudyFolder, plain_recipe
from gradlab.studies.inline import InlineStudy, figure_rows
from gradlab.studies.knobs import find_knob, read_values, typed
from gradlab.studies.members import MOST, Member, Notify, Planned, train_members
from gradlab.studies.pages import vary as pages
from gradlab.studies.seeds import seed_numbers
from gradlab.studies.spread import Spread, spreads
from gradlab.training.experiment import Experiment, resolve
from gradlab.training.observers import Observer
from gradlab.wording import counted, name_of

_SEED, _SPLITS = "train.seed", ("train", "validation", "test")
_CURVE = 300  # points of a drawn curve
_POINTS = 500  # drawn of a split, at most

Points = list[list[float]]


@dataclass(frozen=True, kw_only=True)
class FittedCurve:
    """A regression on one input: the points it had, as (x, y), and the curve that it drew through them."""

    axis: str
    train: Points
    validation: Points
    curve: Points


@dataclass(frozen=True, kw_only=True, repr=False)
class Choice(InlineResult):
    """One value, or one pair of values, and its trainings: one for each seed."""

    changes: dict[str, Any]
    members: list[Member]

    def _facts(self) -> list[str]:
        return [*(f"{key}={typed(value)}" for key, value in self.changes.items()), counted(len(self.members), "run")]

    @property
    def diverged(self) -> int:
        """How many of its trainings have no figures."""
        return sum(member.diverged for member in self.members)

    def spread(self, split: str) -> dict[str, Spread]:
        return spreads([member.figures(split) for member in self.members if not member.diverged])

    def figures(self, split: str) -> Figures:
        """The means over the seeds."""
        return {name: spread.mean for name, spread in self.spread(split).items()}


@dataclass(frozen=True, kw_only=True, repr=False)
class Variations(InlineStudy):
    """What each value, or each pair of values, gave."""

    recipe: str
    path: Path
    metric: str
    knobs: dict[str, list[Any]]
    members: list[Member]
    seeds: int = 1
    """Trainings of each value, or pair of values, which follow each other in `members`."""
    fits: dict[str, FittedCurve] = field(default_factory=dict)
    """By the name of the training, where there is one input and one number to predict."""

    def _facts(self) -> list[str]:
        best = [f"best {key}={typed(value)}" for key, value in (self.best.changes if self.best else {}).items()]
        return [self.recipe, counted(len(self.choices), "choice"), *best]

    def _content(self) -> list[Html]:
        columns = [(s, name) for name in dict.fromkeys(("loss", self.metric)) for s in ("train", self.held_out)]
        rows = [(*c.changes.values(), *(c.figures(s).get(name) for s, name in columns)) for c in self.choices]
        return [figure_rows([*self.knobs, *(f"{s} {name_of(name)}" for s, name in columns)], rows)]

    @property
    def held_out(self) -> str:
        """The split that stands for unseen examples: validation, or test where there is none."""
        return "validation" if any(member.validation for member in self.members) else "test"

    @cached_property
    def choices(self) -> list[Choice]:
        every = [self.members[i : i + self.seeds] for i in range(0, len(self.members), self.seeds)]
        return [
            Choice(changes={key: members[0].changes[key] for key in self.knobs}, members=members) for members in every
        ]

    @property
    def best(self) -> Choice | None:
        """The values with the lowest held-out loss: its mean, where there are several seeds."""
        finite = [c for c in self.choices if math.isfinite(c.figures(self.held_out).get("loss", math.nan))]
        return min(finite, key=lambda c: c.figures(self.held_out)["loss"], default=None)

    def to_json(self) -> dict[str, Any]:
        return {
            "study": "vary",
            "out": str(self.path),
            "recipe": self.recipe,
            "metric": self.metric,
            "knobs": self.knobs,
            "seeds": self.seeds,
            "choices": [
                {"changes": c.changes, **{s: {n: asdict(f) for n, f in c.spread(s).items()} for s in _SPLITS}}
                for c in self.choices
            ],
            "best": self.best.changes if self.best else None,
            "members": [asdict(member) for member in self.members],
        }


def vary(
    recipe: Recipe,
    knobs: Mapping[str, str],
    out: Path,
    device: torch.device,
    *,
    observers: Sequence[Observer] = (),
    notify: Notify | None = None,
    command: str = "gradlab train RECIPE",
    seeds: int = 1,
) -> Variations:
    """Train the recipe with every value of a knob, or every pair of values of two, each into a folder of its own.

    With `seeds`, each of them so many times, from `train.seed` upwards: so that luck can be separated from effect.
    Values are as they are typed: `{"model.degree": "1,3,9"}`, `{"model.degree": "1:9", "train.weight_decay": "0,0.1"}`.
    """
    values = read_knobs(recipe, knobs, seeds)
    planned = _planned(recipe, values, seeds)
    if not out.exists():
        for one in planned[::seeds]:  # what would fail is refused before there is a folder
            first = Experiment.of(one.recipe, device)
    else:
        first = Experiment.of(planned[0].recipe, device)
    question = {"study": "vary", "knobs": values, "recipe": plain_recipe(resolve(recipe))}
    folder = StudyFolder.open(out, {**question, **({"seeds": seeds} if seeds > 1 else {})})
    trained = train_members(folder, planned, device, observers, notify, may_diverge=True)
    result = Variations(
        recipe=recipe.name,
        path=out,
        metric=first.task.headline,
        knobs=values,
        members=trained,
        seeds=seeds,
        fits=_fits(out, trained) if seeds == 1 and _draws_a_curve(first.dataset) else {},
    )
    folder.finish(result.to_json(), pages.report(result, command))
    return result


def read_knobs(recipe: Recipe, knobs: Mapping[str, str], seeds: int = 1) -> dict[str, list[Any]]:
    """The values of each knob, checked."""
    if seeds > 1 and _SEED in knobs:
        raise GradlabError("--seeds gives every training seeds of its own: leave out --vary train.seed.")
    if not 1 <= len(knobs) <= 2:
        raise GradlabError(f"One or two knobs can be varied, not {len(knobs)}. `gradlab sweep` takes any number.")
    values = {key: read_values(find_knob(recipe, key), key, text) for key, text in knobs.items()}
    count = seeds * math.prod(map(len, values.values()))
    if count > MOST:
        raise GradlabError(f"That would be {count:,} trainings, and {MOST} are the most. Name fewer values.")
    return values


def _planned(recipe: Recipe, values: Mapping[str, list[Any]], seeds: int) -> list[Planned]:
    """Every combination, by names that say what it is."""
    if seeds > 1:
        values = {**values, _SEED: seed_numbers(recipe, seeds)}
    every = [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]
    names = [
        re.sub(r"[^\w.,=+-]", "_", ",".join(f"{k.split('.')[-1]}={typed(v)}" for k, v in c.items())) for c in every
    ]
    if len({name.lower() for name in names}) < len(names) or max(map(len, names)) > 100:
        names = [f"run-{i}" for i in range(1, len(every) + 1)]
    return [Planned.of(name, recipe, changes) for name, changes in zip(names, every, strict=True)]


def _draws_a_curve(dataset: Dataset) -> bool:
    raw = dataset.raw
    if not isinstance(raw, Raw):
        return False
    numbers = raw.classes is None and not raw.categorical and not raw.missing
    return numbers and raw.inputs.shape[1:] == (1,) and raw.targets.size == len(raw.targets)


def _fits(out: Path, members: Sequence[Member]) -> dict[str, FittedCurve]:
    runs = {member.name: open_run(out / member.name) for member in members if member.train}
    return {name: _fit(run) for name, run in runs.items()}


def _fit(run: Run) -> FittedCurve:
    raw = run.dataset.raw  # its own: what is varied may be the data

    def points(split: str) -> Points:
        rows = run.dataset.split(split).sample(_POINTS).rows
        return [raw.inputs[rows, 0].tolist(), raw.targets[rows].ravel().tolist()]

    x = np.linspace(raw.inputs.min(), raw.inputs.max(), _CURVE)
    return FittedCurve(
        axis=(raw.features or ["x"])[0],
        train=points("train"),
        validation=points("validation"),
        curve=[x.tolist(), run.predict(x[:, None]).tolist()],
    )
