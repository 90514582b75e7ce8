"""The knobs of a callable, read off its signature."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from gradlab.errors import GradlabError, one_line, unknown
from gradlab.registry.annotations import hints_of
from gradlab.registry.knobs import Knob

_BY_PLACE_OR_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD

Settings = Mapping[str, Any]


class MissingValue(GradlabError):
    """A knob without a default has no value."""


class Schema:
    """The knobs of a callable: its keyword-only parameters, and in place of a dataclass its fields.

    With `fixed`, all parameters but these are knobs. `old` is a function of knobs that there once were: what it returns
    are values of today's.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        fixed: Collection[str] | None = None,
        old: Callable[..., Settings] | None = None,
    ):
        self.function = function
        self.knobs: dict[str, Knob] = {}
        self.old_knobs = {} if old is None else Schema(old).knobs
        self._old = old
        self._groups: dict[str, Schema] = {}
        hints = hints_of(function)
        factories = {f.name: f.default_factory for f in fields(function)} if is_dataclass(function) else {}
        for p in inspect.signature(function).parameters.values():
            if p.kind is not p.KEYWORD_ONLY and (fixed is None or p.name in fixed or p.kind is not _BY_PLACE_OR_NAME):
                continue
            hint = hints.get(p.name, Any if p.default in (None, Knob.empty) else type(p.default))
            if is_dataclass(hint):
                self._groups[p.name] = Schema(hint)  # type: ignore[arg-type]
                self.knobs |= self._groups[p.name].knobs
            elif p.name not in (fixed or ()):
                factory = factories.get(p.name, MISSING)
                self.knobs[p.name] = Knob(p.name, hint, p.default if factory is MISSING else factory())

    def resolve(self, values: Settings, where: str) -> dict[str, Any]:
        """Every knob with its value: those of `values` checked, the others by default."""
        values = self._renamed(values, where)
        for key in values:
            if key not in self.knobs:
                raise unknown(f"key in {where},", key, self.knobs)
        resolved = {}
        for knob in self.knobs.values():
            value = values.get(knob.name, knob.default)
            if value is Knob.empty:
                raise MissingValue(f"{where}.{knob.name} must be given{': ' * bool(knob.doc)}{knob.doc}.")
            is_default = value is None and knob.default is None
            resolved[knob.name] = None if is_default else knob.resolve(value, f"{where}.{knob.name}")
        return resolved

    def read(self, values: Settings, where: str) -> Any:
        """What it gives for these values, checked and completed."""
        return self.call(**self.resolve(values, where))

    def check(self, values: Settings, where: str) -> None:
        """Refuse arguments that do not fit their annotations."""
        for name, value in values.items():
            if name in self.knobs:
                self.knobs[name].check(value, f"{where}: {name}")

    def call(self, *args: Any, **values: Any) -> Any:
        """Call it with values of its knobs, those of a dataclass put together again."""
        groups = {
            name: group.call(**{knob: values.pop(knob) for knob in group.knobs if knob in values})
            for name, group in self._groups.items()
        }
        return self.function(*args, **values, **groups)

    def _renamed(self, values: Settings, where: str) -> Settings:
        old = {key: values[key] for key in self.old_knobs if key in values and key not in self.knobs}
        if self._old is None or not old:
            return values
        read = {key: self.old_knobs[key].resolve(value, f"{where}.{key}") for key, value in old.items()}
        return {**self._old(**read), **{key: value for key, value in values.items() if key not in old}}


def check_positional(what: str, function: Callable[..., Any], positional: Sequence[str]) -> None:
    """Refuse a builder that cannot be called with these arguments, and knobs by name."""
    try:
        kinds = inspect.signature(function).parameters.values()
        knobs = [p.name for p in kinds if p.kind is inspect.Parameter.KEYWORD_ONLY]
        inspect.signature(function).bind(*positional, **dict.fromkeys(knobs))
    except (TypeError, ValueError) as error:
        raise GradlabError(
            f"{what} must be a function of ({', '.join(positional)}), and of keyword-only knobs: {one_line(error)}."
        ) from None
