"""A model for the data at hand: the annotation of its builder's first parameter says which inputs it takes."""

import inspect
import typing

from torch import nn

from gradlab.errors import GradlabError, one_line
from gradlab.models.registry import models
from gradlab.registry import Part, hints_of
from gradlab.specs import Spec

_NAMED = 5  # other models that a message names


def build_model(part: Part, inputs: Spec, outputs: int, *, where: str = "model", data: str | None = None) -> nn.Module:
    """The model for these inputs and so many outputs, with fresh weights.

    Errors say `where` the part was asked for and, if there is one, the name of the `data` that the inputs are of.
    """
    part = models.resolve(part, where)
    if not isinstance(inputs, taken(part.name)):
        raise _not_taken(part.name, inputs, data)
    try:
        return models.build(part, inputs, outputs)
    except RuntimeError as error:
        raise GradlabError(f"The model {part.name} cannot be made: {one_line(error)}") from None


def taken(name: str) -> tuple[type[Spec], ...]:
    """The kinds of inputs that a model takes: any, where its builder does not say.

    >>> taken("lenet")
    (<class 'gradlab.specs.Picture'>,)
    """
    first = next(iter(inspect.signature(models[name]).parameters), "")
    annotation = hints_of(models[name]).get(first)
    said = typing.get_args(annotation) or (annotation,)
    return tuple(kind for kind in said if isinstance(kind, type) and issubclass(kind, Spec)) or (Spec,)


def _not_taken(name: str, inputs: Spec, data: str | None) -> GradlabError:
    told = f"data={data}" if data else "the inputs"
    kinds = " or ".join(kind.kind for kind in taken(name))
    others = [other for other in models if isinstance(inputs, taken(other))]
    hint = f", such as {', '.join(others[:_NAMED])}" if others else ""
    return GradlabError(f"model={name} takes {kinds}, but {told} are {inputs}. Take another model{hint}.")
