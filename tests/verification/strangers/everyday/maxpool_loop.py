import torch
from torch import nn
import torch.nn.functional as F


class MaxPool2d(nn.Module):
    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        pair = lambda v: (v, v) if isinstance(v, int) else tuple(v)
        self.k = pair(kernel_size)
        self.s = pair(stride if stride is not None else kernel_size)
        self.p = pair(padding)

    def forward(self, x):
        x = F.pad(x, (self.p[1], self.p[1], self.p[0], self.p[0]), value=float("-inf"))
        w = x.unfold(-2, self.k[0], self.s[0]).unfold(-2, self.k[1], self.s[1])
        return w.amax(dim=(-2, -1))
