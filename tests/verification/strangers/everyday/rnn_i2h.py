import torch
import torch.nn as nn


class ElmanRNN(nn.Module):
    """One layer; the sequence is (batch, time, features)."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size, hidden_size, bias=False)
        self.h2h = nn.Linear(hidden_size, hidden_size)

    def init_hidden(self, x):
        return torch.zeros(1, x.shape[0], self.hidden_size, dtype=x.dtype, device=x.device)

    def forward(self, inputs, hidden=None):
        if hidden is None:
            hidden = self.init_hidden(inputs)
        h = hidden[0]
        outs = []
        for x in inputs.unbind(1):
            h = torch.tanh(self.i2h(x) + self.h2h(h))
            outs.append(h)
        return torch.stack(outs, dim=1), h[None]
