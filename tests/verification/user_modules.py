"""Modules as users write them, right and wrong, for `gradlab verify --like`."""

import torch
from torch import nn


class Rectifier(nn.Module):
    """Right."""

    def forward(self, x):
        return torch.where(x > 0, x, 0)


class Leaky(nn.Module):
    """Lets a little through far below 0."""

    def forward(self, x):
        return torch.relu(x) - 0.01 * torch.relu(-x - 2)


class Slope(nn.Module):
    """PReLU whose parameter has another name, and whose sizes have other names."""

    def __init__(self, channels, init=0.25):
        super().__init__()
        self.slope = nn.Parameter(torch.full((channels,), init))

    def forward(self, x):
        return nn.functional.prelu(x, self.slope)


class Largest(nn.Module):
    """Maxout with its own names of the sizes."""

    def __init__(self, width, height, in_features, out_features, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width, out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(width, out_features))

    def forward(self, x):
        return (torch.einsum("...d, khd -> ...kh", x, self.weight) + self.bias).amax(-2)


class Picky(nn.Module):
    def __init__(self, in_features, out_features, pieces):
        raise RuntimeError("not today")


def build_rectifier(**settings):
    return nn.ReLU()


number = 3
