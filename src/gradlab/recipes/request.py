"""What a training is asked to be, in short or in full: a recipe's name, the data, and changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlab.errors import GradlabError
from gradlab.recipe import Recipe
from gradlab.recipes import DEFAULT, book, find
from gradlab.recipes.keys import complete_changes

if TYPE_CHECKING:
    from gradlab.data.recognition import SuggestedTraining


@dataclass(frozen=True)
class TrainingRequest:
    """A recipe by its name, the data that it learns from, and changes by their full keys."""

    name: str
    data: str | None
    changes: dict[str, Any]

    @classmethod
    def complete(cls, name: str | None, changes: Mapping[str, Any], data: str | None = None) -> "TrainingRequest":
        """From the name of a recipe, or from a path of data alone, which says what recipe it is for."""
        if name is not None and is_data(name):
            if data is not None:
                raise GradlabError(f"{name} and {data} both say what to learn from: name one of them.")
            name, data = None, name
        if name is None and data is not None:
            training = suggest_training(Path(data))
            return cls(training.recipe, data, {**training.values, **complete_changes(find(training.recipe), changes)})
        name = name or DEFAULT
        return cls(name, data, complete_changes(find(name), changes))

    @property
    def texts(self) -> tuple[str, ...]:
        """The changes as they are typed."""
        return tuple(f"{key}={value}" for key, value in self.changes.items())

    def recipe(self, device: str = "") -> Recipe:
        """The recipe with all changes; the data last, since another source drops the values of the one before."""
        path = {} if self.data is None or "data.path" in self.changes else {"data.path": self.data}
        return find(self.name, device).override({**self.changes, **path})


def is_data(name: str) -> bool:
    """Whether a name is not that of a recipe, nor of a file with one, but of some other file or folder."""
    is_recipe = name in book or name.endswith((".toml", ".py")) or ".py:" in name
    return not is_recipe and exists(name)


def suggest_training(path: Path) -> "SuggestedTraining":
    """The likeliest training on what is at a path."""
    from gradlab.data.recognition import is_run, recognize

    if is_run(path):
        raise GradlabError(
            f"{path} is a run. To continue it: gradlab resume {path}\n"
            f"To train the same again: gradlab train {path / 'recipe.toml'}"
        )
    return recognize(path).trainings[0]
