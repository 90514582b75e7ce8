import torch
from torch import nn


class BiGRU(nn.Module):
    def __init__(self, input_dim, hidden_dim, num_layers=1):
        super().__init__()
        self.hidden_dim, self.num_layers = hidden_dim, num_layers
        self.fwd = nn.ModuleList()
        self.bwd = nn.ModuleList()
        for layer in range(num_layers):
            d = input_dim if layer == 0 else 2 * hidden_dim
            self.fwd.append(nn.GRUCell(d, hidden_dim))
            self.bwd.append(nn.GRUCell(d, hidden_dim))

    def forward(self, x, h0=None):
        B, T, _ = x.shape
        if h0 is None:
            h0 = x.new_zeros(2 * self.num_layers, B, self.hidden_dim)
        last = []
        for l in range(self.num_layers):
            hf, hb = h0[2 * l], h0[2 * l + 1]
            f, b = [], [None] * T
            for t in range(T):
                hf = self.fwd[l](x[:, t], hf)
                f.append(hf)
            for t in reversed(range(T)):
                hb = self.bwd[l](x[:, t], hb)
                b[t] = hb
            last += [hf, hb]
            x = torch.cat([torch.stack(f, 1), torch.stack(b, 1)], dim=-1)
        return x, torch.stack(last)
