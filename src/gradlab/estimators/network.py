"""The network of an estimator: a multilayer perceptron unless another is asked for."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.errors import GradlabError, one_line
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.specs import Array, Shape
from gradlab.tasks import predict

Factory = Callable[[Shape, int], nn.Module]
"""Takes the shape of one input and the number of outputs, and gives a network with fresh weights."""

Chosen = str | Mapping[str, Any] | Factory | None
"""A registered name, such a name with its knobs, a factory, or nothing for the perceptron."""


def build(
    chosen: Chosen, perceptron: Mapping[str, Any], inputs: Array, outputs: int, seed: int, where: str
) -> nn.Module:
    """A network with weights drawn from the seed; the caller's generator is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if callable(chosen):
            return _checked(chosen, inputs.shape, outputs)
        part = Part("mlp", perceptron) if chosen is None else Part.read(chosen, f"{where}.model")
        return build_model(part, inputs, outputs, where=where)


def _checked(factory: Factory, shape: Shape, outputs: int) -> nn.Module:
    if isinstance(factory, nn.Module):
        raise GradlabError(
            "model must make a fresh network for each fit, but a network was given. "
            "Give a function: model=lambda shape, outputs: MyNetwork(...)"
        )
    module: object = factory(shape, outputs)
    if not isinstance(module, nn.Module):
        raise GradlabError(f"model must return an nn.Module, but it returned {module!r}.")
    if not any(p.requires_grad for p in module.parameters()):
        raise GradlabError("The model has no parameter to train.")
    return module


def check(model: nn.Module, some: Tensor, outputs: int) -> None:
    """Refuse a network that these inputs do not fit into, or whose outputs are not what is needed."""
    try:
        predicted = predict(model, some)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        shape = tuple(some.shape[1:])
        raise GradlabError(f"The model does not take inputs of shape {shape}: {one_line(error)}") from None
    if predicted.shape != (len(some), outputs):
        raise GradlabError(
            f"The model gives outputs of shape {tuple(predicted.shape)} for {len(some)} examples: "
            f"it must be ({len(some)}, {outputs})."
        )
