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

The same annotations check the arguments of building blocks when these are called from Python (`Knob.check`).
"""

import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cached_property
from textwrap import shorten
from typing import Annotated, Any, Generic, Literal, TypeVar

from annotated_types import Ge, Gt, Le, Lt, MultipleOf
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from gradlab import owners
from gradlab.errors import GradlabError, one_line, unknown

_INT64, _FLOAT32 = 2**63, 3.4028235e38  # beyond these a number is no number of a tensor any more

Count = Annotated[int, Ge(1), Lt(_INT64)]
Natural = Annotated[int, Ge(0), Lt(_INT64)]
Positive = Annotated[float, Gt(0), Le(_FLOAT32)]
NonNegative = Annotated[float, Ge(0), Le(_FLOAT32)]
Fraction = Annotated[float, Ge(0), Lt(1)]
Probability = Annotated[float, Ge(0), Le(1)]
Finite = Annotated[float, Ge(-_FLOAT32), Le(_FLOAT32)]

Seed = Annotated[int, Ge(0), Lt(2**32)]  # what every generator takes

T = TypeVar("T")

_BY_PLACE_OR_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD
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
            reason = "It is too large for a tensor" if limit >= _INT64 else first["msg"]
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
        return typing.get_args(bare) if typing.get_origin(bare) in _UNIONS else (bare,)

    @property
    def _optional(self) -> bool:
        return types.NoneType in self._members

    @property
    def _is_list(self) -> bool:
        return any(typing.get_origin(m) is list for m in self._members)


Settings = Mapping[str, Any]


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
                raise GradlabError(f"{where}.{knob.name} must be given{': ' * bool(knob.doc)}{knob.doc}.")
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


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a callable; those written as text, read."""
    # The fields of a dataclass are annotated in its body, the parameters of any other class in its constructor.
    # A subclass of a dataclass may have a constructor of its own.
    own = isinstance(function, type) and "__init__" in vars(function) and "__dataclass_params__" not in vars(function)
    plain_class = isinstance(function, type) and (own or not is_dataclass(function))
    written = getattr(function, "__init__") if plain_class else function  # noqa: B009  (mypy takes it for an instance)
    try:
        return typing.get_type_hints(written, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        name = getattr(function, "__name__", repr(function))
        raise GradlabError(f"The annotations of {name} cannot be read: {one_line(error)}.") from None


def check_positional(what: str, function: Callable[..., Any], given: Sequence[str]) -> None:
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


class Registry(Named[Callable[..., T]]):
    """Builders of one kind, by name. Knobs of `shared`, if given, are added to those of each builder."""

    def __init__(self, kind: str, shared: Callable[..., Any] | None = None, makes: type = object, default: str = ""):
        """`makes` is what every builder must return; `default` is the part whose knobs are set without a name."""
        super().__init__(kind)
        self._shared, self._makes, self._default = shared, makes, default
        self._shared_of: dict[str, Callable[..., Any]] = {}
        self._old_of: dict[str, Callable[..., Settings]] = {}

    def register(
        self, name: str, shared: Callable[..., Any] | None = None, old: Callable[..., Settings] | None = None
    ) -> Callable[[Callable[..., T]], Callable[..., T]]:
        """Enter the decorated builder under `name`; with knobs of its own `shared` in place of the registry's.

        `old` reads the knobs that it had in earlier versions: see `Schema`.
        """

        def enter(builder: Callable[..., T]) -> Callable[..., T]:
            self.enter(name, builder)
            if shared is not None:
                self._shared_of[name] = shared
            if old is not None:
                self._old_of[name] = old
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
        return Part(name, self.schema(name).resolve(part.values, where))

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


def shortly(value: Any) -> str:
    """A value in a message."""
    return shorten(repr(value), 80, placeholder=" …")


_BOUNDS: list[tuple[Any, str, str]] = [(Ge, "ge", "≥"), (Gt, "gt", ">"), (Le, "le", "≤"), (Lt, "lt", "<")]
_BOUNDS += [(MultipleOf, "multiple_of", "and a multiple of")]


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
            if isinstance(m, kind) and abs(getattr(m, attribute)) < _INT64
        ]
        return type_name(arguments[0]) + "".join(bounds)
    if typing.get_origin(annotation) is Literal:
        return " | ".join(map(str, arguments))
    if typing.get_origin(annotation) in (list, tuple):
        return f"{typing.get_origin(annotation).__name__} of {', '.join(map(type_name, arguments))}"
    if annotation is Ellipsis:
        return "…"
    if typing.get_origin(annotation) in _UNIONS:
        return " | ".join(type_name(a) for a in arguments)
    return {str: "text", type(None): "none"}.get(annotation, getattr(annotation, "__name__", str(annotation)))
