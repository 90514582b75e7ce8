"""How numbers of pictures lie in memory."""

import torch
from torch import nn


def channels_last(model: nn.Module) -> None:
    """Lay out the weights of convolutions, and with them all that passes, as the matrix units of a GPU take them."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
