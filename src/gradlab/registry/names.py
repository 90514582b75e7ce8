"""Things by name."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from gradlab import owners
from gradlab.errors import GradlabError, unknown

T = TypeVar("T")


class Named(Generic[T]):
    """Things by name, each once: gradlab's own, those of installed packages, and those of files of one's own.

    A name may be written with - or with _, whichever it was entered with.
    """

    def __init__(self, kind: str):
        self.kind = kind
        self.owners: dict[str, str] = {}
        """The file that brought a name, where it is one of the user's own."""
        self._things: dict[str, T] = {}

    def enter(self, name: str, thing: T) -> None:
        """Refused where the name is taken; a file that is read again may replace its own."""
        owner = owners.reading
        again = bool(owner) and self.owners.get(name) == owner and (self.kind, name) not in owners.entered
        if self._find(name) is not None and not again:
            whose = f"in {self.owners[name]}" if name in self.owners else "already"
            raise GradlabError(f"There is a {self.kind} named {name!r} {whose}. Register yours under another name.")
        self._things[name] = thing
        if owner:
            self.owners[name] = owner
            owners.entered.append((self.kind, name))

    def names(self) -> list[str]:
        return sorted(self)

    def __iter__(self) -> Iterator[str]:
        """In the order in which they were entered."""
        owners.load_installed()
        return iter(list(self.things()))

    def __contains__(self, name: object) -> bool:
        if self._find(name) is None:
            owners.load_installed()
        return self._find(name) is not None

    def __getitem__(self, name: str) -> T:
        return self.things()[self.spelled(name)]

    def spelled(self, name: str) -> str:
        """The name as it was entered; an unknown one is answered with the closest."""
        if name not in self:
            raise unknown(self.kind, name, self.things())
        return self._find(name) or name

    def things(self) -> Mapping[str, T]:
        """All that were entered, by name."""
        return self._things

    def owner(self, name: str) -> str:
        """The file of one's own that brought it; empty for all others."""
        return self.owners.get(name, "")

    def _find(self, name: object) -> str | None:
        things = self.things()
        if name in things or not isinstance(name, str):
            return name if isinstance(name, str) else None
        return next((other for other in things if other.replace("-", "_") == name.replace("-", "_")), None)
