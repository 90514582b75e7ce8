"""What the recurrent blocks share: the types of their settings, the bias that can be left out, the check of a state."""

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn

from gradlab.nn.blocks import ShapeError

Bias = bool | Literal["one"]
"""Two biases, as PyTorch has them; one, as equations have it; or none."""

Nonlinearity = Literal["tanh", "relu"]


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
