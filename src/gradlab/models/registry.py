"""Where models are entered by name."""

from torch import nn

from gradlab.registry import Registry

models: Registry[nn.Module] = Registry("model", makes=nn.Module)
