import torch
from torch import nn


class Highway(nn.Module):
    """module: the transform; size: its features."""

    def __init__(self, module, size, bias=-2.0):
        super().__init__()
        self.transform = module
        self.gate = nn.Linear(size, size)
        nn.init.constant_(self.gate.bias, bias)

    def forward(self, x):
        t = self.gate(x).sigmoid()
        return torch.lerp(x, self.transform(x), t)
