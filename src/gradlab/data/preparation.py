"""How the examples of a run became what its model sees: fitted to the training split, and kept in the run."""

from collections.abc import Callable
from typing import Any, ClassVar

from gradlab.errors import GradlabError
from gradlab.specs import Spec


class Preparation:
    """What a run keeps of its data, so that the model can be built again and take new inputs."""

    kind: ClassVar[str]
    """Its name in data.json."""

    @property
    def spec(self) -> Spec:
        """What one example is, as the model sees it."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """For data.json."""
        raise NotImplementedError

    def files(self) -> dict[str, str]:
        """Further files of the run, by name."""
        return {}

    def words(self) -> dict[str, str]:
        """What a person should know of it."""
        return {"an example": str(self.spec)}

    def __call__(self, raw: Any) -> Any:
        """New raw inputs, as a column for the model."""
        raise GradlabError(f"Examples of this kind ({self.spec}) cannot be read from files or arrays.")

    def complete(self, targets: Any) -> Any:
        """What data.json says of the targets, with what of them is kept here."""
        return targets

    def check_known(self, raw: Any, columns: list[str]) -> None:
        """Refuse raw inputs with values in some columns that training did not have."""

    def in_units(self, raw: Any, predictions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What a task makes of a model's outputs for raw inputs, in units that only the inputs define."""
        return predictions

    @classmethod
    def read_back(cls, described: dict[str, Any], targets: dict[str, Any], read: Callable[[str], str]) -> "Preparation":
        """From what data.json says; `read` gives the other files of the run."""
        raise NotImplementedError
