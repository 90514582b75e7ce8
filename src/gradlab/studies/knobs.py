"""Any knob of a recipe by its dotted key, and several values for it as they are typed."""

import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any

from gradlab.errors import GradlabError, unknown
from gradlab.recipe import SECTIONS, Recipe
from gradlab.recipes.keys import registries
from gradlab.registry import Knob, Part, Schema
from gradlab.training.plan import plan_schema

_MOST = 1000  # values of a range: more is a slip of the keyboard


def find_knob(recipe: Recipe, key: str) -> Knob:
    """The knob that a dotted key sets: `train.lr`, `model` itself, or one of a part, as `train.optimizer.beta1`."""
    section, *path = key.split(".")
    if section not in SECTIONS:
        raise unknown("section", section, SECTIONS)
    if section == "train":
        if not path:
            raise GradlabError("train is not a name: take one of its keys, as in train.lr.")
        return _below(plan_schema, recipe.train, path, "train")
    registry, part = registries()[section], getattr(recipe, section)
    if not path:
        return Knob(section, Annotated[Part, registry, f"which {registry.kind}"], part)
    return _below(registry.schema(part.name), part.values, path, section)


def _below(schema: Schema, values: Mapping[str, Any], path: list[str], where: str) -> Knob:
    name, *rest = path
    knobs = {**schema.old_knobs, **schema.knobs}
    if name not in knobs:
        raise unknown(f"key in {where},", name, schema.knobs)
    knob = knobs[name]
    if not rest:
        return knob
    part = None if knob.choices is None else knob.resolve(values.get(name, knob.default), f"{where}.{name}")
    if knob.choices is None or not isinstance(part, Part):
        raise GradlabError(f"{where}.{name} has no keys below it, so there is no {where}.{name}.{'.'.join(rest)}.")
    return _below(knob.choices.schema(part.name), part.values, rest, f"{where}.{name}")


def kinds(annotation: Any) -> set[Any]:
    """The plain types that a knob takes: int, float, bool, str, list, or a literal's values.

    >>> sorted(map(str, kinds(Annotated[int, "how many"] | None)))
    ["<class 'NoneType'>", "<class 'int'>"]
    """
    if getattr(annotation, "__metadata__", None):
        return kinds(typing.get_args(annotation)[0])
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return set().union(*(kinds(member) for member in typing.get_args(annotation)))
    if origin is typing.Literal:
        return {typing.Literal}
    return {origin or annotation}


def read_values(knob: Knob, key: str, text: str) -> list[Any]:
    """Several values: by commas, by slashes where each is a list, or a range of whole numbers as 1:9.

    >>> from gradlab.registry import Count
    >>> read_values(Knob("degree", Count, 1), "model.degree", "1:4"), read_values(Knob("lr", float, 1), "lr", "0.1,1")
    ([1, 2, 3, 4], [0.1, 1.0])
    >>> read_values(Knob("hidden", list[Count], []), "model.hidden", "64/128,128")
    [[64], [128, 128]]
    """
    value_types = kinds(knob.annotation)
    if ":" in text and value_types & {int, float}:
        texts = [str(i) for i in _whole_range(key, text, int in value_types)]
    else:
        texts = [part.strip() for part in text.split("/" if list in value_types else ",")]
    values = [plain(knob.resolve(one, key)) for one in texts]
    return [v for i, v in enumerate(values) if v not in values[:i]]


def _whole_range(key: str, text: str, takes_whole: bool) -> range:
    try:
        low, high = map(int, text.split(":"))
        if not takes_whole or not 0 <= high - low < _MOST:
            raise ValueError
    except ValueError:
        raise GradlabError(
            f"{key}={text} is not valid: a range is two whole numbers, as in 1:9, at most {_MOST} values, for a knob "
            "of whole numbers. Name the values of others, by commas."
        ) from None
    return range(low, high + 1)


def plain(value: Any) -> Any:
    """A resolved value as JSON holds it: a part by its name."""
    return value.name if isinstance(value, Part) else value


def typed(value: Any) -> str:
    """A knob's value as it is typed on the command line, exact to the bit.

    >>> typed([64, 64]), typed(0.1), typed(2.0), typed(True), typed(None)
    ('64,64', '0.1', '2', 'true', 'none')
    """
    if isinstance(value, list):
        return ",".join(map(typed, value))
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value).removesuffix(".0")
