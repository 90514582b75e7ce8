"""The same recipe trained with several seeds: how much of a figure is luck."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from gradlab.errors import GradlabError, TrainingError
from gradlab.recipe import Recipe
from gradlab.report.bands import Curve
from gradlab.run import Run
from gradlab.studies.folder import StudyFolder, plain_recipe
from gradlab.studies.inline import InlineStudy
from gradlab.studies.members import MOST, Member, Notify, Planned, train_members
from gradlab.studies.pages import seeds as pages
from gradlab.studies.spread import Repeated
from gradlab.training.experiment import Experiment, resolve
from gradlab.training.observers import Observer
from gradlab.wording import counted


@dataclass(frozen=True, kw_only=True, repr=False)
class Seeds(Repeated, InlineStudy):
    """What each seed gave, on the same examples. The spread is that of the training alone: not of the data."""

    noun = "seed"

    curves: dict[tuple[str, str], list[Curve]] = field(default_factory=dict)
    """By split and figure, of the seeds that came to an end and whose folder is still there."""

    @property
    def numbers(self) -> list[int]:
        return [_seed(member) for member in self.members]

    @property
    def diverged(self) -> list[int]:
        """The seeds that have no figures."""
        return [_seed(member) for member in self.members if member.diverged]

    @property
    def basis(self) -> str:
        """What the figures are of, such as `4 of 5 seeds; seed 3 diverged`."""
        every = counted(len(self.members), "seed")
        if not self.diverged:
            return every
        named = f"seed{'s' * (len(self.diverged) > 1)} {', '.join(map(str, self.diverged))}"
        return f"{len(self.finished)} of {every}; {named} diverged"

    def to_json(self) -> dict[str, Any]:
        return {
            "study": "seeds",
            "out": str(self.path),
            "recipe": self.recipe,
            "seeds": self.numbers,
            "diverged": self.diverged,
            "split": self.split,
            "spread": self.spread_to_json(),
            "baseline": self.baseline_to_json(),
            "members": [asdict(member) for member in self.members],
        }


def train_seeds(
    recipe: Recipe,
    count: int,
    out: Path,
    device: torch.device,
    *,
    observers: Sequence[Observer] = (),
    notify: Notify | None = None,
) -> Seeds:
    """Train the recipe with `count` seeds, from its own `train.seed` upwards, into `out`/seed-0, seed-1, ….

    Weights, order and dropout differ; the data and their split are the same. A seed that diverges is reported, and the
    figures are of the others. A study that was stopped goes on where it was.
    """
    check_seeds(count)
    planned = _planned(recipe, count)
    first = Experiment.of(planned[0].recipe, device)  # what would fail is refused before there is a folder
    if not len(first.dataset.test) + len(first.dataset.validation):
        raise GradlabError(
            "There is nothing to judge the seeds by: hold out some examples by data.test or data.validation."
        )
    folder = StudyFolder.open(out, {"study": "seeds", "seeds": count, "recipe": plain_recipe(resolve(recipe))})
    trained = train_members(folder, planned, device, observers, notify, may_diverge=True)
    if all(member.diverged for member in trained):
        raise TrainingError(
            f"All {count} seeds diverged: there are no figures. Lower train.lr (now {first.plan.lr:g})."
        )
    task = first.task
    result = Seeds(
        recipe=recipe.name,
        path=out,
        members=trained,
        higher={name: task.higher_is_better(name) for name in task.figure_names},
        curves=_curves(out, trained, task.headline),
    )
    folder.finish(result.to_json(), pages.report(result))
    return result


def check_seeds(count: int) -> None:
    """Refuse a number of seeds that has no spread, or is a slip of the keyboard."""
    if count < 2:
        raise GradlabError(f"--seeds {count} is too few: one seed has no spread. Take two or more, such as --seeds 5.")
    if count > MOST:
        raise GradlabError(f"--seeds {count} would be {count:,} trainings, and {MOST} are the most of one study.")


def _planned(recipe: Recipe, count: int) -> list[Planned]:
    return [Planned.of(f"seed-{seed}", recipe, {"train.seed": seed}) for seed in seed_numbers(recipe, count)]


def seed_numbers(recipe: Recipe, count: int) -> list[int]:
    """So many seeds, from that of the recipe upwards."""
    first: int = resolve(recipe).train["seed"]
    resolve(recipe.override({"train.seed": first + count - 1}))  # which refuses a seed that is too large
    return list(range(first, first + count))


def _seed(member: Member) -> int:
    seed: int = member.changes["train.seed"]
    return seed


def _curves(out: Path, members: Sequence[Member], metric: str) -> dict[tuple[str, str], list[Curve]]:
    """The most telling metric and both losses, over the steps of each training."""
    logs = [(f"seed {_seed(m)}", Run(out / m.name).metrics) for m in members if not m.diverged]
    drawn = dict.fromkeys([("validation", metric), ("train", "loss"), ("validation", "loss")])
    drawable = {(split, name): [Curve.of(seed, log, split, name) for seed, log in logs] for split, name in drawn}
    kept = {key: [curve for curve in curves if curve.steps] for key, curves in drawable.items()}
    return {key: curves for key, curves in kept.items() if curves}
