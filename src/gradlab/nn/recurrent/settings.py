"""What the constructors and the calls of all recurrent blocks check, and the bias that can be left out."""

from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.blocks import ShapeError

Bias = bool | Literal["one"]
"""Two biases, as PyTorch has them; one, as equations have it; or none."""

Nonlinearity = Literal["tanh", "relu"]


def check_settings(
    block: nn.Module,
    sizes: Mapping[str, int],
    bias: Bias,
    dropout: float = 0.0,
    nonlinearity: Nonlinearity = "tanh",
) -> None:
    name = type(block).__name__
    for key, value in sizes.items():
        if value < 1:
            raise GradlabError(f"{name}: {key} must be at least 1, got {value}.")
    if bias not in (True, False, "one"):
        raise GradlabError(f"{name}: bias must be True (two of them), 'one' or False, got {bias!r}.")
    if not 0 <= dropout <= 1:
        raise GradlabError(f"{name}: dropout must be a probability from 0 to 1, got {dropout}.")
    if nonlinearity not in ("tanh", "relu"):
        raise GradlabError(f"{name}: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}.")


def keep_one_bias(block: nn.Module) -> None:
    """The biases of the hidden state become buffers of zeros.

    State dicts stay those of PyTorch, and what goes over parameters (initialisation, weight decay) does not see them.
    """
    for name, parameter in list(block.named_parameters()):
        if name.startswith("bias_hh"):
            delattr(block, name)
            block.register_buffer(name, torch.zeros_like(parameter, requires_grad=False))


def check_state(block: nn.Module, states: Iterable[Tensor], **sizes: int) -> None:
    for state in states:
        if tuple(state.shape) != tuple(sizes.values()):
            wanted = ", ".join(f"{key}={value}" for key, value in sizes.items())
            raise ShapeError(f"{type(block).__name__}: a state must have shape ({wanted}), got {tuple(state.shape)}.")
