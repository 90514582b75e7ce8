"""Builders of one kind, by name."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from gradlab import owners
from gradlab.errors import GradlabError
from gradlab.registry.knobs import Knob, shortly
from gradlab.registry.names import Named
from gradlab.registry.parts import Part
from gradlab.registry.schema import MissingValue, Schema, Settings

T = TypeVar("T")


class Registry(Named[Callable[..., T]]):
    """Builders of one kind, by name. Knobs of `shared`, if given, are added to those of each builder."""

    def __init__(self, kind: str, shared: Callable[..., Any] | None = None, makes: type = object, default: str = ""):
        """`makes` is what every builder must return; `default` is the part whose knobs are set without a name."""
        super().__init__(kind)
        self._shared, self._makes, self._default = shared, makes, default
        self._shared_of: dict[str, Callable[..., Any]] = {}
        self._old_of: dict[str, Callable[..., Settings]] = {}
        self._advice: dict[str, Callable[[Settings], str]] = {}

    def register(
        self,
        name: str,
        shared: Callable[..., Any] | None = None,
        old: Callable[..., Settings] | None = None,
        advice: Callable[[Settings], str] | None = None,
    ) -> Callable[[Callable[..., T]], Callable[..., T]]:
        """Enter the decorated builder under `name`; with knobs of its own `shared` in place of the registry's.

        `old` reads the knobs that it had in earlier versions: see `Schema`. `advice` says, from the values that there
        are, what a knob without a value could be set to.
        """

        def enter(builder: Callable[..., T]) -> Callable[..., T]:
            self.enter(name, builder)
            if shared is not None:
                self._shared_of[name] = shared
            if old is not None:
                self._old_of[name] = old
            if advice is not None:
                self._advice[name] = advice
            return builder

        return enter

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(super().__iter__()))

    def shared_function(self, name: str) -> Callable[..., Any] | None:
        """Whose knobs are added to those of this builder, if there is one."""
        return self._shared_of.get(name, self._shared)

    def _shared_knobs(self, name: str) -> dict[str, Knob]:
        shared = self.shared_function(name)
        return Schema(shared).knobs if shared else {}

    def old(self, name: str) -> Callable[..., Settings] | None:
        """What reads the knobs of earlier versions of a builder, if there is such a thing."""
        return self._old_of.get(name)

    def schema(self, name: str) -> Schema:
        name = self.spelled(name)
        schema = Schema(self[name], old=self.old(name))
        schema.knobs |= self._shared_knobs(name)
        return schema

    def resolve(self, part: Part, where: str) -> Part:
        """The part with every knob filled in and checked."""
        name = self.spelled(part.name or self._default)
        try:
            return Part(name, self.schema(name).resolve(part.values, where))
        except MissingValue as error:
            if name not in self._advice:
                raise
            raise GradlabError(f"{error} {self._advice[name](part.values)}".rstrip()) from None

    def build(self, part: Part, *args: Any) -> T:
        """Call the builder with positional arguments and the part's own values (not the shared ones)."""
        shared = self._shared_knobs(part.name)
        own = {k: v for k, v in part.values.items() if k not in shared}
        with owners.telling():
            built: T = Schema(self[part.name]).call(*args, **own)
        if not isinstance(built, self._makes):
            raise GradlabError(
                f"The {self.kind} {part.name!r} must give a {self._makes.__name__}, but it gave {shortly(built)}."
            )
        return built

    def shared(self, part: Part) -> dict[str, Any]:
        """The part's values of the shared knobs."""
        shared = self._shared_knobs(part.name)
        return {k: v for k, v in part.values.items() if k in shared}
