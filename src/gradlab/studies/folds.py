"""Cross-validation: the same recipe trained k times, each time tested on another of k disjoint parts of the data."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from gradlab.data import sources
from gradlab.errors import GradlabError
from gradlab.recipe import Recipe
from gradlab.studies.folder import StudyFolder, plain_recipe
from gradlab.studies.members import Asked, Figures, Member, Tell, train_members
from gradlab.studies.pages import folds as pages
from gradlab.training.experiment import Experiment, resolve
from gradlab.training.observers import Observer


@dataclass(frozen=True, kw_only=True)
class Spread:
    r"""Mean, sample standard deviation $s$ and standard error $s / \sqrt k$ of k figures.

    Folds share most of their training examples, so their figures are not independent: the standard error is the usual
    one, and somewhat too small (Bengio & Grandvalet 2004 show that no unbiased one exists).

    >>> Spread.of([1.0, 2.0, 3.0])
    Spread(mean=2.0, std=1.0, standard_error=0.5773502691896258)
    """

    mean: float
    std: float
    standard_error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        std = statistics.stdev(values) if len(values) > 1 else 0.0
        return cls(mean=statistics.fmean(values), std=std, standard_error=std / math.sqrt(len(values)))


@dataclass(frozen=True, kw_only=True)
class CrossValidation:
    """What the folds gave, each on its own test split."""

    recipe: str
    path: Path
    folds: list[Member]
    higher: dict[str, bool]
    """For each metric, whether higher is better."""

    @property
    def test(self) -> dict[str, Spread]:
        """The spread of each figure over the folds; one that some fold does not define is left out."""
        names = [n for n in self.folds[0].test if all(n in fold.test for fold in self.folds)]
        return {name: Spread.of([fold.test[name] for fold in self.folds]) for name in names}

    @property
    def baseline(self) -> Figures:
        """The mean of the trivial predictor's figures over the folds."""
        figures = [fold.baseline["test"] for fold in self.folds]
        return {n: statistics.fmean(f[n] for f in figures) for n in self.test if all(n in f for f in figures)}

    @property
    def baseline_name(self) -> str:
        name: str = self.folds[0].baseline["name"]
        return name

    def to_json(self) -> dict[str, Any]:
        return {
            "study": "folds",
            "out": str(self.path),
            "recipe": self.recipe,
            "test": {name: asdict(spread) for name, spread in self.test.items()},
            "baseline": {"name": self.baseline_name, **self.baseline},
            "folds": [asdict(fold) for fold in self.folds],
        }


def cross_validate(
    recipe: Recipe,
    folds: int,
    out: Path,
    device: torch.device,
    *,
    observers: Sequence[Observer] = (),
    tell: Tell | None = None,
) -> CrossValidation:
    """Train the recipe with `data.folds=k data.fold=i` for each i, into `out`/fold-1 … fold-k.

    Each fold is the test split once; preprocessing is fitted anew inside the training split of each. A study that was
    stopped goes on where it was.
    """
    if "folds" not in sources.schema(recipe.data.name).knobs:
        raise GradlabError(
            f"data={recipe.data.name} has no folds: a text is divided in its own order. To see how far figures spread, "
            "vary the seed: --vary train.seed=1:5"
        )
    first = Experiment.of(_fold(recipe, folds, 0).recipe, device)  # what would fail is refused before there is a folder
    asked = [_fold(recipe, folds, i) for i in range(folds)]
    higher = {name: metric.higher_is_better for name, metric in first.task.metrics.items()}
    folder = StudyFolder.open(out, {"study": "folds", "folds": folds, "recipe": plain_recipe(resolve(recipe))})
    trained = train_members(folder, asked, device, observers, tell)
    found = CrossValidation(recipe=recipe.name, path=out, folds=trained, higher=higher)
    folder.finish(found.to_json(), pages.report(found))
    return found


def _fold(recipe: Recipe, folds: int, fold: int) -> Asked:
    return Asked.of(f"fold-{fold + 1}", recipe, {"data.folds": folds, "data.fold": fold})
