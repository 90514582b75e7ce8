"""What annotations say of values: bounds that many share, hints written as text, and types in words."""

import types
import typing
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt, MultipleOf

from gradlab.errors import GradlabError, one_line

INT64, _FLOAT32 = 2**63, 3.4028235e38  # beyond these a number is no number of a tensor any more

Count = Annotated[int, Ge(1), Lt(INT64)]
Natural = Annotated[int, Ge(0), Lt(INT64)]
Positive = Annotated[float, Gt(0), Le(_FLOAT32)]
NonNegative = Annotated[float, Ge(0), Le(_FLOAT32)]
Fraction = Annotated[float, Ge(0), Lt(1)]
Probability = Annotated[float, Ge(0), Le(1)]
Finite = Annotated[float, Ge(-_FLOAT32), Le(_FLOAT32)]

Seed = Annotated[int, Ge(0), Lt(2**32)]  # what every generator takes

UNIONS = (typing.Union, types.UnionType)  # `Annotated[int, …] | None` is the former, `int | None` the latter


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
            if isinstance(m, kind) and abs(getattr(m, attribute)) < INT64
        ]
        return type_name(arguments[0]) + "".join(bounds)
    if typing.get_origin(annotation) is Literal:
        return " | ".join(map(str, arguments))
    if typing.get_origin(annotation) in (list, tuple):
        return f"{typing.get_origin(annotation).__name__} of {', '.join(map(type_name, arguments))}"
    if annotation is Ellipsis:
        return "…"
    if typing.get_origin(annotation) in UNIONS:
        return " | ".join(type_name(a) for a in arguments)
    return {str: "text", type(None): "none"}.get(annotation, getattr(annotation, "__name__", str(annotation)))
