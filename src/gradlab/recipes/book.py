"""The book of recipes: functions by name."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gradlab.errors import GradlabError
from gradlab.recipe import Recipe
from gradlab.registry import Named

DEFAULT = "digits-mlp"

book = Named[Callable[[], Recipe]]("recipe")

cpu_changes: dict[str, dict[str, Any]] = {}
"""What recipes that have a GPU in mind change on a CPU, by their names."""


def recipe(function: Callable[[], Recipe]) -> Callable[[], Recipe]:
    """Enter a function under the name of the recipe it returns: its own, with dashes."""
    if not callable(function):
        raise GradlabError("@gradlab.register.recipe stands alone: the name of a recipe is that of its function.")
    book.enter(function.__name__.replace("_", "-"), function)
    return function


def on_cpu(**changes: Any) -> Callable[[Callable[[], Recipe]], Callable[[], Recipe]]:
    """Have a recipe changed on a CPU, so that it ends in minutes there too; what a user sets comes after."""

    def note(function: Callable[[], Recipe]) -> Callable[[], Recipe]:
        cpu_changes[function.__name__.replace("_", "-")] = _paths(changes)
        return function

    return note


def variant(name: str, parent: Recipe, **changes: object) -> Recipe:
    """A recipe with some values changed: `train__lr=0.1` is that of `train.lr`."""
    return replace(parent.override(_paths(changes)), name=name)


def _paths(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("__", "."): value for key, value in changes.items()}


def doc(name: str) -> str:
    """What a recipe is, in its own words."""
    return inspect.getdoc(book[name]) or ""
