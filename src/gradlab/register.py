"""Names of one's own: models, data, tasks, optimisers, schedules and recipes, registered as gradlab's are.

    import gradlab as gl

    @gl.register.model("towers")
    def towers(inputs, outputs, *, width: int = 32): ...

Keyword-only arguments are knobs, with their types, defaults and documentation, as everywhere in gradlab.
"""

from collections.abc import Callable
from typing import Any

from gradlab.data.dataset import sources
from gradlab.data.own import seeded
from gradlab.environments import registry as environments
from gradlab.errors import GradlabError
from gradlab.models import models
from gradlab.recipes.book import recipe
from gradlab.registry import Registry, check_positional
from gradlab.tasks import tasks
from gradlab.training.optimizers import optimizers
from gradlab.training.schedules import schedules

__all__ = ["data", "dataset", "environment", "model", "optimizer", "recipe", "schedule", "task"]

Builder = Callable[..., Any]


def model(name: str) -> Callable[[Builder], Builder]:
    """A function of (inputs, outputs, *, knobs) that returns an nn.Module.

    `inputs` is a spec (`gradlab.specs`) of what one example is, and `outputs` how many numbers the task wants for it.
    """
    return _registering("model", models, name, "inputs", "outputs")


def data(name: str) -> Callable[[Builder], Builder]:
    """A function of (seed, *, knobs) that returns all examples as a `Raw`: gradlab splits and preprocesses them."""
    return _registering("data", sources, name, "seed")


def dataset(name: str) -> Callable[[Builder], Builder]:
    """A function of (seed, *, knobs) that returns a `Dataset`: its splits are taken as they are."""
    return _registering("dataset", sources, name, "seed", shared=seeded)


def task(name: str) -> Callable[[Builder], Builder]:
    """A `Task`, or a function of (targets, *, knobs) that returns one."""
    return _registering("task", tasks, name, "targets")


def environment(name: str) -> Callable[[Builder], Builder]:
    """A function of (num, *, knobs) that returns so many copies: a list of gymnasium.Env, or an `Environments`."""
    return _registering("environment", environments, name, "num")


def optimizer(name: str) -> Callable[[Builder], Builder]:
    """A function of (parameters, *, knobs) that returns an `Optimizer`."""
    return _registering("optimizer", optimizers, name, "parameters")


def schedule(name: str) -> Callable[[Builder], Builder]:
    """A function of (steps, *, knobs) that returns a `Schedule`."""
    return _registering("schedule", schedules, name, "steps")


def _registering(
    kind: str, registry: Registry[Any], name: str, *positional: str, shared: Builder | None = None
) -> Callable[[Builder], Builder]:
    if not isinstance(name, str):
        raise GradlabError(f"What is registered needs a name: @gradlab.register.{kind}(NAME).")

    def register(builder: Builder) -> Builder:
        check_positional(f"{kind} {name!r}", builder, positional)
        return registry.register(name, shared)(builder)

    return register
