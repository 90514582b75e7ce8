"""One value that a user may set, read off a signature: converted, checked and described by its annotation."""

import inspect
import types
import typing
from dataclasses import dataclass
from functools import cached_property
from textwrap import shorten
from typing import TYPE_CHECKING, Any, cast

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from gradlab.errors import GradlabError
from gradlab.registry.annotations import INT64, UNIONS, type_name
from gradlab.registry.names import Named
from gradlab.registry.parts import Part

if TYPE_CHECKING:
    from gradlab.registry.builders import Registry


@dataclass(frozen=True)
class Knob:
    """One value a user may set: its type, default and documentation, read off a signature."""

    name: str
    annotation: Any
    default: Any

    empty = inspect.Parameter.empty
    """The default of a knob that must be given."""

    @property
    def _metadata(self) -> tuple[Any, ...]:
        return getattr(self.annotation, "__metadata__", ())

    @property
    def doc(self) -> str:
        return next((m for m in self._metadata if isinstance(m, str)), "")

    @property
    def choices(self) -> "Registry[Any] | None":
        """The registry this knob chooses from, if it is a choice of a part."""
        return next((cast("Registry[Any]", m) for m in self._metadata if isinstance(m, Named)), None)

    @property
    def type_name(self) -> str:
        if self.choices is None:
            return type_name(self.annotation)
        return " | ".join([*self.choices.names(), *["none"] * self._optional])

    def resolve(self, value: Any, where: str) -> Any:
        """The value, converted and checked; text (from a command line) is read by the knob's type."""
        if self._optional and (value is None or (isinstance(value, str) and value.lower() == "none")):
            return None
        if self.choices is not None:
            return self._resolve_choice(self.choices, value, where)
        if isinstance(value, str) and self._is_list:
            value = [item.strip() for item in value.split(",")] if value.strip() else []
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            first, *others = error.errors()
            limit = max(first.get("ctx", {}).get("le", 0), first.get("ctx", {}).get("lt", 0))
            reason = "It is too large for a tensor" if limit >= INT64 else first["msg"]
            # A union fails once per member: the whole type says it better than its parts.
            reason = "No form of it fits" if others else reason
            shown = shorten(",".join(map(str, value)) if isinstance(value, list) else str(value), 80, placeholder=" …")
            raise GradlabError(f"{where}={shown} is not valid: {reason}. It takes: {self.type_name}.") from None
        except PydanticUserError:
            raise GradlabError(
                f"{where} cannot be a knob: {self.type_name} is no type that can be read from text. Take a number, "
                "text, bool, a list of these, or a Literal of names."
            ) from None

    def check(self, value: Any, where: str) -> None:
        """Refuse a value that Python code passes, where it is of another type or out of bounds; none is converted."""
        if value is not self.default:
            try:
                self._strict_adapter.validate_python(value)
            except ValidationError:
                raise GradlabError(f"{where} must be {self.type_name}, got {shortly(value)}.") from None

    def _resolve_choice(self, choices: "Registry[Any]", value: Any, where: str) -> Any:
        if str in self._members and isinstance(value, str):  # a name alone
            return choices.spelled(value)
        part, default = Part.read(value, where), Part.read(self.default or "", where)
        if not part.name or (default.name and choices.spelled(part.name) == choices.spelled(default.name)):
            part = Part(default.name, {**default.values, **part.values})
        return choices.resolve(part, where)

    @property
    def readable(self) -> bool:
        """Whether text can be of its type."""
        try:
            return self._adapter is not None
        except PydanticUserError:
            return False

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation, config=ConfigDict(allow_inf_nan=False))

    @cached_property
    def _strict_adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation, config=ConfigDict(strict=True, arbitrary_types_allowed=True))

    @property
    def _members(self) -> tuple[Any, ...]:
        bare = typing.get_args(self.annotation)[0] if self._metadata else self.annotation
        return typing.get_args(bare) if typing.get_origin(bare) in UNIONS else (bare,)

    @property
    def _optional(self) -> bool:
        return types.NoneType in self._members

    @property
    def _is_list(self) -> bool:
        return any(typing.get_origin(m) is list for m in self._members)


def shortly(value: Any) -> str:
    """A value in a message."""
    return shorten(repr(value), 80, placeholder=" …")
