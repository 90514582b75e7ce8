import torch
from torch import nn


class StackedLSTM(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers=2, dropout=0.0, bias=True):
        super().__init__()
        self.num_layers, self.hidden_size = num_layers, hidden_size
        self.dropout = nn.Dropout(dropout)
        self.cells = nn.ModuleList(
            [nn.LSTMCell(input_size if i == 0 else hidden_size, hidden_size, bias=bias) for i in range(num_layers)]
        )

    def forward(self, seq, state=None):
        steps, batch, _ = seq.size()
        if state is None:
            h = [seq.new_zeros(batch, self.hidden_size) for _ in self.cells]
            c = [seq.new_zeros(batch, self.hidden_size) for _ in self.cells]
        else:
            h, c = list(state[0]), list(state[1])
        outputs = []
        for t in range(steps):
            inp = seq[t]
            for l, cell in enumerate(self.cells):
                h[l], c[l] = cell(inp, (h[l], c[l]))
                inp = h[l] if l == self.num_layers - 1 else self.dropout(h[l])
            outputs.append(inp)
        return torch.stack(outputs), (torch.stack(h), torch.stack(c))
