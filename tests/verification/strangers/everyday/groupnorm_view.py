import torch
from torch import nn


class GroupNorm(nn.Module):
    def __init__(self, groups, channels, *, eps=1e-5, affine=True):
        super().__init__()
        assert channels % groups == 0, "Number of channels should be evenly divisible by the number of groups"
        self.groups, self.channels, self.eps, self.affine = groups, channels, eps, affine
        if affine:
            self.scale = nn.Parameter(torch.ones(channels))
            self.shift = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        x_shape = x.shape
        batch_size = x_shape[0]
        assert self.channels == x.shape[1]
        x = x.reshape(batch_size, self.groups, -1)
        mean = x.mean(dim=[-1], keepdim=True)
        mean_x2 = ((x - mean) ** 2).mean(dim=[-1], keepdim=True)
        x_norm = (x - mean) / torch.sqrt(mean_x2 + self.eps)
        if self.affine:
            x_norm = x_norm.view(batch_size, self.channels, -1)
            x_norm = self.scale.view(1, -1, 1) * x_norm + self.shift.view(1, -1, 1)
        return x_norm.view(x_shape)
