"""A text in pieces: state is carried on, gradients are not; cells are called step by step as well."""

import torch
from torch import nn

torch.manual_seed(20)
text = torch.arange(400).remainder(7) + torch.arange(400).remainder(3)
embed, rnn, cell, out = nn.Embedding(10, 12), nn.GRU(12, 24), nn.LSTMCell(24, 24), nn.Linear(24, 10)
params = [p for m in (embed, rnn, cell, out) for p in m.parameters()]
opt = torch.optim.Adam(params, lr=5e-3)
state, inner = None, (torch.zeros(1, 24), torch.zeros(1, 24))
for start in range(0, 390, 6):
    piece = text[start : start + 7]
    hidden, state = rnn(embed(piece[:-1]).unsqueeze(1), state)
    state, outs = state.detach(), []
    inner = tuple(h.detach() for h in inner)
    for h in hidden:
        inner = cell(h, inner)
        outs.append(out(inner[0]))
    loss = nn.functional.cross_entropy(torch.cat(outs), piece[1:])
    opt.zero_grad(set_to_none=False)
    loss.backward()
    nn.utils.clip_grad_value_(params, 0.5)
    opt.step()
    print(start, loss.item().hex())
