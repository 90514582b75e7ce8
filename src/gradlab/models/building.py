"""A model for the data at hand: the annotation of its builder's first parameter says which inputs it takes."""

import inspect
import typing
from contextlib import suppress
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from gradlab import process
from gradlab.errors import GradlabError, one_line
from gradlab.models.embedded import EmbeddedTable
from gradlab.models.registry import models
from gradlab.registry import Part, hints_of
from gradlab.specs import Spec, Table
from gradlab.wording import count

_LISTED = 5  # other models that a message names


def build_model(part: Part, inputs: Spec, outputs: int, *, where: str = "model", data: str | None = None) -> nn.Module:
    """The model for these inputs and so many outputs, with fresh weights.

    Errors say `where` the part was asked for and, if there is one, the name of the `data` that the inputs are of.
    """
    part = models.resolve(part, where)
    if not isinstance(inputs, taken(part.name)):
        raise _not_taken(part.name, inputs, data)
    if isinstance(inputs, Table) and inputs.embedded:
        embedded = EmbeddedTable(inputs.features - len(inputs.embedded), inputs.embedded)
        return nn.Sequential(embedded, build_model(part, Table(embedded.width), outputs, where=where, data=data))
    if not outputs and _asks_for_outputs(part, inputs):
        raise GradlabError(
            f"model={part.name} gives outputs to compare with a target, and this task asks for none. Take a model of "
            "the examples themselves, such as autoencoder."
        )
    if models[part.name].__module__.startswith("gradlab."):  # what a user's builder does beside building is not known
        needed, there = _bytes_of(part, inputs, outputs), process.free_memory()
        if needed > there:
            raise GradlabError(
                f"The model {part.name} does not fit into memory: its {count(needed / 4)} weights take "
                f"{count(needed)}B, and {count(there)}B are free. Make it smaller."
            )
    try:
        return models.build(part, inputs, outputs)
    except RuntimeError as error:
        raise GradlabError(f"The model {part.name} cannot be made: {one_line(error)}") from None


def _asks_for_outputs(part: Part, inputs: Spec) -> bool:
    """Whether a model of ours can be made with some outputs, and not without."""
    if not models[part.name].__module__.startswith("gradlab."):
        return False
    try:
        _bytes_of(part, inputs, 0)
    except GradlabError:
        with suppress(GradlabError):
            _bytes_of(part, inputs, 1)
            return True
    return False


def _bytes_of(part: Part, inputs: Spec, outputs: int) -> int:
    """What the tensors of a model take at least, found out without making them."""
    counting = _Counting()
    with suppress(RuntimeError), torch.random.fork_rng(devices=[]), counting:
        models.build(part, inputs, outputs)
    return counting.bytes


class _Counting(TorchFunctionMode):
    """Makes tensors on the device meta, where they take no memory, fills none of them, and adds up their sizes."""

    _NEW = (torch.empty, torch.zeros, torch.ones, torch.full)

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in self._NEW:
            tensor = function(*args, **{**kwargs, "device": "meta"})
            self.bytes += tensor.nbytes
            return tensor
        if function.__name__.endswith("_") and not function.__name__.startswith("_"):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **kwargs)


def taken(name: str) -> tuple[type[Spec], ...]:
    """The kinds of inputs that a model takes: any, where its builder does not say.

    >>> taken("lenet")
    (<class 'gradlab.specs.Picture'>,)
    """
    first = next(iter(inspect.signature(models[name]).parameters), "")
    annotation = hints_of(models[name]).get(first)
    kinds = typing.get_args(annotation) or (annotation,)
    return tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Spec)) or (Spec,)


def _generative(name: str) -> bool:
    """Whether it is a model of examples, and so of no use where outputs are asked for."""
    return models[name].__module__.startswith("gradlab.models.generative.")


def _not_taken(name: str, inputs: Spec, data: str | None) -> GradlabError:
    which = f"data={data}" if data else "the inputs"
    kinds = " or ".join(kind.kind for kind in taken(name))
    others = [other for other in models if isinstance(inputs, taken(other)) and _generative(other) == _generative(name)]
    hint = f", such as {', '.join(others[:_LISTED])}" if others else ""
    return GradlabError(f"model={name} takes {kinds}, but {which} are {inputs}. Take another model{hint}.")
