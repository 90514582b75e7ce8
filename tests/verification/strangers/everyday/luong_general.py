import torch
from torch import nn


class LuongAttention(nn.Module):
    def __init__(self, query_dim, key_dim):
        super().__init__()
        self.W_a = nn.Linear(key_dim, query_dim, bias=False)

    def forward(self, query, keys, values, mask=None):
        energy = torch.bmm(query, self.W_a(keys).transpose(1, 2))
        if mask is not None:
            energy.masked_fill_(mask == 0, float("-inf"))
        weights = torch.softmax(energy, dim=-1)
        return torch.bmm(weights, values), weights
