"""One piece of a recipe: a registered name and the values of its knobs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradlab.errors import GradlabError


@dataclass(frozen=True)
class Part:
    """A registered name and the values of its knobs: one piece of a recipe. An empty name means the default one."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> Any:
        """As TOML writes it: the bare name where there is nothing else to say, otherwise a table."""
        return {"name": self.name, **plain_values(self.values)} if self.values else self.name

    @classmethod
    def read(cls, value: Any, where: str) -> "Part":
        """From a bare name or a table with a name."""
        match value:
            case Part(name=str()):
                return value
            case str():
                return cls(value)
            case {"name": str(name), **values}:
                return cls(name, {str(k): v for k, v in values.items()})
        raise GradlabError(f"{where} must be a name or a table with a 'name', got {value!r}.")


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Knob values as TOML can hold them: None is written by absence."""
    return {k: v.plain() if isinstance(v, Part) else v for k, v in values.items() if v is not None}
