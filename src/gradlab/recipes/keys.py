"""Every key of a recipe that can be set, and the full keys of short ones."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gradlab.errors import GradlabError, unknown
from gradlab.recipe import SECTIONS, Recipe
from gradlab.registry import Knob, Part, Registry, Schema

_SHORT = ("doctor",)  # keys without a section that a recipe itself knows


class RecipeSetting(NamedTuple):
    """A knob, the key that sets it in a recipe, and the value that it has there; None where it has none yet."""

    key: str
    knob: Knob
    value: Any


def registries() -> dict[str, Registry[Any]]:
    """Where data, model and task are chosen from."""
    from gradlab.data import sources
    from gradlab.models import models
    from gradlab.tasks import tasks

    return {"data": sources, "model": models, "task": tasks}


def recipe_parts(recipe: Recipe) -> dict[str, tuple[Registry[Any], Part]]:
    """Data, model and task, each with the registry that it is chosen from."""
    return {section: (registry, getattr(recipe, section)) for section, registry in registries().items()}


def recipe_settings(recipe: Recipe) -> Iterator[RecipeSetting]:
    """Every value that can be set, also those of the parts that it has chosen for its knobs."""
    from gradlab.training.plan import plan_schema

    for section, (registry, part) in recipe_parts(recipe).items():
        yield from part_settings(registry.schema(part.name), part.values, section)
    yield from part_settings(plan_schema, recipe.train, "train")


def part_settings(schema: Schema, values: Mapping[str, Any], where: str) -> Iterator[RecipeSetting]:
    """Those of a part, whose section or knob is `where`."""
    for knob in schema.knobs.values():
        key, value = f"{where}.{knob.name}", values.get(knob.name, knob.default)
        value = None if value is knob.empty else value
        part = None if value is None or knob.choices is None else knob.resolve(value, key)
        yield RecipeSetting(key, knob, value if part is None else part)
        if knob.choices is not None and isinstance(part, Part):
            yield from part_settings(knob.choices.schema(part.name), part.values, key)


def knob_names() -> set[str]:
    """The names of all knobs that a recipe can have."""
    from gradlab.training.plan import plan_schema

    schemas = [each.schema(name) for each in registries().values() for name in each]
    return {knob for schema in (plan_schema, *schemas) for knob in schema.knobs}


def complete_keys(recipe: Recipe, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes with the full key for each: `lr` is train.lr, unless other parts of the recipe have such a knob too."""
    if all(map(_is_full, changes)):
        return dict(changes)
    keys = defaultdict[str, list[str]](list)
    for setting in recipe_settings(recipe):
        keys[setting.knob.name].append(setting.key)
    return {key if _is_full(key) else _complete(key, keys, recipe.name): value for key, value in changes.items()}


def complete_changes(recipe: Recipe, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The same, where some of the changes choose parts, which have the knobs that others set."""
    return complete_keys(recipe.override({key: value for key, value in changes.items() if _is_full(key)}), changes)


def _is_full(key: str) -> bool:
    return not key or "." in key or key in (*SECTIONS, *_SHORT)  # no key at all is refused by the recipe


def _complete(key: str, keys: Mapping[str, list[str]], recipe: str) -> str:
    name = key.replace("-", "_")
    if name not in keys:
        raise unknown(f"key in the recipe {recipe}:", key, keys)
    if len(keys[name]) > 1:
        raise GradlabError(f"{key} could be {' or '.join(keys[name])}: write which one is meant.")
    return keys[name][0]
