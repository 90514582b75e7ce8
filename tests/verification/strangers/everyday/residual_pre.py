import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, fn, downsample=None):
        super().__init__()
        self.fn = fn
        self.downsample = downsample

    def forward(self, x, **kwargs):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.fn(x, **kwargs)
        out += identity
        return out
