"""Builders by name. A builder's keyword arguments are its configuration schema; there is no second place to edit.

    models = Registry("model")

    @models.register("mlp")
    def mlp(inputs, outputs, *, hidden: Annotated[list[Count], "units of each hidden layer"] = [128]): ...

Positional arguments are given by the code that builds; keyword-only ones are *knobs* that a user may set. A string in
the annotation is the knob's documentation, and a registry in it makes the knob a choice among that registry's names.
A keyword whose type is a dataclass stands for the keywords of that dataclass, which a model and its builders share:

    @dataclass(frozen=True, kw_only=True)
    class Settings:
        dim: Annotated[Count, "features of a token"] = 128

    @models.register("gpt")
    def gpt(inputs, outputs, *, settings: Settings): ...
"""

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property
from textwrap import shorten
from typing import Annotated, Any, Generic, Literal, TypeVar

from annotated_types import Ge, Gt, Le, Lt
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from gradlab import owners
from gradlab.errors import GradlabError, one_line, unknown

Count = Annotated[int, Ge(1)]
Natural = Annotated[int, Ge(0)]
Positive = Annotated[float, Gt(0), Lt(float("inf"))]
NonNegative = Annotated[float, Ge(0), Lt(float("inf"))]
Fraction = Annotated[float, Ge(0), Lt(1)]

Seed = Annotated[int, Ge(0), Lt(2**32)]  # what every generator takes

T = TypeVar("T")

_UNIONS = (typing.Union, types.UnionType)  # `Annotated[int, …] | None` is the former, `int | None` the latter


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
        return next((m for m in self._metadata if isinstance(m, Registry)), None)

    @property
    def type_name(self) -> str:
        return " | ".join(self.choices.names()) if self.choices else type_name(self.annotation)

    def resolve(self, value: Any, where: str) -> Any:
        """The value, converted and checked; text (from a command line) is read by the knob's type."""
        if self.choices is not None:
            part, default = Part.read(value, where), Part.read(self.default, where)
            if part.name in ("", default.name):
                part = Part(default.name, {**default.values, **part.values})
            return self.choices.resolve(part, where)
        if isinstance(value, str):
            if value.lower() == "none" and self._optional:
                return None
            if self._is_list:
                value = [item.strip() for item in value.split(",")] if value.strip() else []
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            # A union fails once per member: the whole type says it better than its parts.
            reason = error.errors()[0]["msg"] if len(error.errors()) == 1 else "No form of it fits"
            shown = ",".join(map(str, value)) if isinstance(value, list) else value
            raise GradlabError(f"{where}={shown} is not valid: {reason}. It takes: {self.type_name}.") from None
        except PydanticUserError:
            raise GradlabError(
                f"{where} cannot be a knob: {self.type_name} is no type that can be read from text. Take a number, "
                "text, bool, a list of these, or a Literal of names."
            ) from None

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation, config=ConfigDict(allow_inf_nan=False))

    @property
    def _members(self) -> tuple[Any, ...]:
        bare = typing.get_args(self.annotation)[0] if self._metadata else self.annotation
        return typing.get_args(bare) if typing.get_origin(bare) in _UNIONS else (bare,)

    @property
    def _optional(self) -> bool:
        return types.NoneType in self._members

    @property
    def _is_list(self) -> bool:
        return any(typing.get_origin(m) is list for m in self._members)


class Schema:
    """The knobs of a callable: its keyword-only parameters, and in place of a dataclass its fields."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.knobs: dict[str, Knob] = {}
        self._groups: dict[str, Schema] = {}
        hints = hints_of(function)
        for p in inspect.signature(function).parameters.values():
            if p.kind is not inspect.Parameter.KEYWORD_ONLY:
                continue
            hint = hints.get(p.name, Any if p.default in (None, Knob.empty) else type(p.default))
            if is_dataclass(hint):
                self._groups[p.name] = Schema(hint)  # type: ignore[arg-type]
                self.knobs |= self._groups[p.name].knobs
            else:
                self.knobs[p.name] = Knob(p.name, hint, p.default)

    def resolve(self, values: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Every knob with its value: the given ones checked, the others by default."""
        for key in values:
            if key not in self.knobs:
                raise unknown(f"key in {where},", key, self.knobs)
        resolved = {}
        for knob in self.knobs.values():
            value = values.get(knob.name, knob.default)
            if value is Knob.empty:
                raise GradlabError(f"{where}.{knob.name} must be given{': ' * bool(knob.doc)}{knob.doc}.")
            is_default = value is None and knob.default is None
            resolved[knob.name] = None if is_default else knob.resolve(value, f"{where}.{knob.name}")
        return resolved

    def call(self, *given: Any, **values: Any) -> Any:
        """Call it with values of its knobs, those of a dataclass put together again."""
        groups = {
            name: group.call(**{knob: values.pop(knob) for knob in group.knobs if knob in values})
            for name, group in self._groups.items()
        }
        return self.function(*given, **values, **groups)


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a callable; those written as text, read."""
    # The fields of a dataclass are annotated in its body, the parameters of any other class in its constructor.
    plain_class = isinstance(function, type) and not is_dataclass(function)
    written = getattr(function, "__init__") if plain_class else function  # noqa: B009  (mypy takes it for an instance)
    try:
        return typing.get_type_hints(written, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        name = getattr(function, "__name__", repr(function))
        raise GradlabError(f"The annotations of {name} cannot be read: {one_line(error)}.") from None


def check_given(what: str, function: Callable[..., Any], given: Sequence[str]) -> None:
    """Refuse a builder that cannot be called with what it will be given, and knobs by name."""
    try:
        kinds = inspect.signature(function).parameters.values()
        knobs = [p.name for p in kinds if p.kind is inspect.Parameter.KEYWORD_ONLY]
        inspect.signature(function).bind(*given, **dict.fromkeys(knobs))
    except (TypeError, ValueError) as error:
        raise GradlabError(
            f"{what} must be a function of ({', '.join(given)}), and of knobs that are keyword-only: {one_line(error)}."
        ) from None


class Named(Generic[T]):
    """Things by name, each once: gradlab's own, those of installed packages, and those of files of one's own."""

    def __init__(self, kind: str):
        self.kind = kind
        self.owners: dict[str, str] = {}
        """The file that brought a name, where it is one of the user's own."""
        self._things: dict[str, T] = {}

    def enter(self, name: str, thing: T) -> None:
        """Refused where the name is taken; a file that is read again may replace its own."""
        owner = owners.reading
        again = bool(owner) and self.owners.get(name) == owner and (self.kind, name) not in owners.entered
        if name in self._things and not again:
            whose = f"in {self.owners[name]}" if name in self.owners else "already"
            raise GradlabError(f"There is a {self.kind} named {name!r} {whose}. Register yours under another name.")
        self._things[name] = thing
        if owner:
            self.owners[name] = owner
            owners.entered.append((self.kind, name))

    def names(self) -> list[str]:
        owners.load_installed()
        return sorted(self._things)

    def __iter__(self) -> Iterator[str]:
        """In the order in which they were entered."""
        owners.load_installed()
        return iter(list(self._things))

    def __contains__(self, name: object) -> bool:
        if name not in self._things:
            owners.load_installed()
        return name in self._things

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise unknown(self.kind, name, self._things)
        return self._things[name]


class Registry(Generic[T]):
    """Builders of one kind, by name. Knobs of `shared`, if given, are added to those of each builder."""

    def __init__(self, kind: str, shared: Callable[..., Any] | None = None, makes: type = object):
        """`makes` is what every builder must return."""
        self.kind = kind
        self._shared, self._makes = shared, makes
        self._shared_of: dict[str, Callable[..., Any]] = {}
        self._builders = Named[Callable[..., T]](kind)

    def register(
        self, name: str, shared: Callable[..., Any] | None = None
    ) -> Callable[[Callable[..., T]], Callable[..., T]]:
        """Enter the decorated builder under `name`; with knobs of its own `shared` in place of the registry's."""

        def enter(builder: Callable[..., T]) -> Callable[..., T]:
            self._builders.enter(name, builder)
            if shared is not None:
                self._shared_of[name] = shared
            return builder

        return enter

    def names(self) -> list[str]:
        return self._builders.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __getitem__(self, name: str) -> Callable[..., T]:
        return self._builders[name]

    def owner(self, name: str) -> str:
        """The file of one's own that brought it; empty for all others."""
        return self._builders.owners.get(name, "")

    def shared_function(self, name: str) -> Callable[..., Any] | None:
        """Whose knobs are added to those of this builder, if there is one."""
        return self._shared_of.get(name, self._shared)

    def _shared_knobs(self, name: str) -> dict[str, Knob]:
        shared = self.shared_function(name)
        return Schema(shared).knobs if shared else {}

    def schema(self, name: str) -> Schema:
        schema = Schema(self[name])
        schema.knobs = {**schema.knobs, **self._shared_knobs(name)}
        return schema

    def resolve(self, part: Part, where: str) -> Part:
        """The part with every knob filled in and checked."""
        return replace(part, values=self.schema(part.name).resolve(part.values, where))

    def build(self, part: Part, *given: Any) -> T:
        """Call the builder with the positional `given` and the part's own values (not the shared ones)."""
        shared = self._shared_knobs(part.name)
        own = {k: v for k, v in part.values.items() if k not in shared}
        with owners.telling():
            built: T = Schema(self[part.name]).call(*given, **own)
        if not isinstance(built, self._makes):
            raise GradlabError(
                f"The {self.kind} {part.name!r} must give a {self._makes.__name__}, but it gave {shortly(built)}."
            )
        return built

    def shared(self, part: Part) -> dict[str, Any]:
        """The part's values of the shared knobs."""
        shared = self._shared_knobs(part.name)
        return {k: v for k, v in part.values.items() if k in shared}


def shortly(value: Any) -> str:
    """A value in a message."""
    return shorten(repr(value), 80, placeholder=" …")


_BOUNDS: list[tuple[Any, str, str]] = [(Ge, "ge", "≥"), (Gt, "gt", ">"), (Le, "le", "≤"), (Lt, "lt", "<")]


def type_name(annotation: Any) -> str:
    """A type as people say it.

    >>> type_name(list[Count] | None), type_name(Literal["a", "b"]), type_name(Fraction)
    ('list of int ≥ 1 | none', 'a | b', 'float ≥ 0 < 1')
    """
    arguments = typing.get_args(annotation)
    if getattr(annotation, "__metadata__", None):
        bounds = [
            f" {sign} {getattr(m, attribute):g}"
            for m in annotation.__metadata__
            for kind, attribute, sign in _BOUNDS
            if isinstance(m, kind) and abs(getattr(m, attribute)) != float("inf")
        ]
        return type_name(arguments[0]) + "".join(bounds)
    if typing.get_origin(annotation) is Literal:
        return " | ".join(map(str, arguments))
    if typing.get_origin(annotation) is list:
        return f"list of {type_name(arguments[0])}"
    if typing.get_origin(annotation) in _UNIONS:
        return " | ".join(type_name(a) for a in arguments)
    return {str: "text", type(None): "none"}.get(annotation, getattr(annotation, "__name__", str(annotation)))
