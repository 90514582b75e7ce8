import math
import torch
from torch import nn


def get_slopes(n):
    def pow2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return pow2(n)
    closest = 2 ** math.floor(math.log2(n))
    return pow2(closest) + get_slopes(2 * closest)[0::2][: n - closest]


class ALiBi(nn.Module):
    def __init__(self, heads):
        super().__init__()
        slopes = torch.tensor(get_slopes(heads), dtype=torch.float64).view(-1, 1, 1)
        self.register_buffer("slopes", slopes, persistent=False)

    def forward(self, i, j):
        q = torch.arange(j - i, j)
        k = torch.arange(j)
        dist = (k[None, :] - q[:, None]).abs()
        return -self.slopes * dist
