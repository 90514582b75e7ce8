"""Where models are entered by name."""

from torch import nn

from gradlab.registry import Registry

Shape = tuple[int, ...]

models: Registry[nn.Module] = Registry("model")
