"""Cross-validation: the same recipe trained k times, each time tested on another of k disjoint parts of the data."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from gradlab.data import sources
from gradlab.errors import GradlabError
from gradlab.recipe import Recipe
from gradlab.studies.folder import StudyFolder, plain_recipe
from gradlab.studies.inline import InlineStudy
from gradlab.studies.members import Member, Notify, Planned, train_members
from gradlab.studies.pages import folds as pages
from gradlab.studies.spread import Repeated, Spread
from gradlab.training.experiment import Experiment, resolve
from gradlab.training.observers import Observer


@dataclass(frozen=True, kw_only=True, repr=False)
class CrossValidation(Repeated, InlineStudy):
    """What the folds gave, each on its own test split.

    Folds share most of their training examples, so their figures are not independent: the standard error is the usual
    one, and somewhat too small (Bengio & Grandvalet 2004 show that no unbiased one exists).
    """

    noun = "fold"

    @property
    def numbers(self) -> list[int]:
        return list(range(1, len(self.members) + 1))

    @property
    def folds(self) -> list[Member]:
        return self.members

    @property
    def test(self) -> dict[str, Spread]:
        """The spread of each figure over the folds; one that some fold does not define is left out."""
        return self.spread

    def to_json(self) -> dict[str, Any]:
        return {
            "study": "folds",
            "out": str(self.path),
            "recipe": self.recipe,
            "test": self.spread_to_json(),
            "baseline": self.baseline_to_json(),
            "folds": [asdict(fold) for fold in self.folds],
        }


def cross_validate(
    recipe: Recipe,
    folds: int,
    out: Path,
    device: torch.device,
    *,
    observers: Sequence[Observer] = (),
    notify: Notify | None = None,
) -> CrossValidation:
    """Train the recipe with `data.folds=k data.fold=i` for each i, into `out`/fold-1 … fold-k.

    Each fold is the test split once; preprocessing is fitted anew inside the training split of each. A study that was
    stopped goes on where it was.
    """
    if "folds" not in sources.schema(recipe.data.name).knobs:
        raise GradlabError(
            f"data={recipe.data.name} has no folds: it comes with splits of its own, or is a text, which is divided in "
            "its own order. To see how far figures spread, train with several seeds: --seeds 5"
        )
    first = Experiment.of(_fold(recipe, folds, 0).recipe, device)  # what would fail is refused before there is a folder
    members = [_fold(recipe, folds, i) for i in range(folds)]
    higher = {name: first.task.higher_is_better(name) for name in first.task.figure_names}
    folder = StudyFolder.open(out, {"study": "folds", "folds": folds, "recipe": plain_recipe(resolve(recipe))})
    trained = train_members(folder, members, device, observers, notify)
    result = CrossValidation(recipe=recipe.name, path=out, members=trained, higher=higher)
    folder.finish(result.to_json(), pages.report(result))
    return result


def _fold(recipe: Recipe, folds: int, fold: int) -> Planned:
    return Planned.of(f"fold-{fold + 1}", recipe, {"data.folds": folds, "data.fold": fold})
