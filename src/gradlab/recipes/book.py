"""The book of recipes: functions by name."""

import inspect
from collections.abc import Callable
from dataclasses import replace

from gradlab.errors import GradlabError
from gradlab.recipe import Recipe
from gradlab.registry import Named

DEFAULT = "digits-mlp"

book = Named[Callable[[], Recipe]]("recipe")


def recipe(function: Callable[[], Recipe]) -> Callable[[], Recipe]:
    """Enter a function under the name of the recipe it returns: its own, with dashes."""
    if not callable(function):
        raise GradlabError("@gradlab.register.recipe stands alone: the name of a recipe is that of its function.")
    book.enter(function.__name__.replace("_", "-"), function)
    return function


def variant(name: str, parent: Recipe, **changes: object) -> Recipe:
    """A recipe with some values changed: `train__lr=0.1` is that of `train.lr`."""
    return replace(parent.override({k.replace("__", "."): v for k, v in changes.items()}), name=name)


def doc(name: str) -> str:
    """What a recipe is, in its own words."""
    return inspect.getdoc(book[name]) or ""
