import torch
from torch import nn


class Maxout(nn.Module):
    def __init__(self, d_in, d_out, pool_size=2):
        super().__init__()
        self.d_in, self.d_out, self.pool_size = d_in, d_out, pool_size
        self.lin = nn.Linear(d_in, d_out * pool_size)

    def forward(self, inputs):
        shape = list(inputs.size())
        shape[-1] = self.pool_size
        shape.append(self.d_out)
        out = self.lin(inputs)
        m, i = out.view(*shape).max(-2)
        return m
