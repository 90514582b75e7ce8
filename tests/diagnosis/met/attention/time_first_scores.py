"""Attention over the states of a GRU, time first, before a classifier."""
# fault: softmax_of_one

import torch
import torch.nn as nn

torch.manual_seed(3)
x = torch.randn(20, 900, 3)
spot = torch.randint(20, (900,))
kind = torch.randint(3, (900,))
x[spot, torch.arange(900), kind] += 4


class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.attn, self.out = nn.GRU(3, 24), nn.Linear(24, 1), nn.Linear(24, 3)

    def forward(self, seq):
        outputs, _ = self.gru(seq)
        energy = self.attn(torch.tanh(outputs))
        weights = nn.functional.softmax(energy, dim=-1)  # FAULT
        weights = nn.functional.softmax(energy, dim=0)  # REPAIRED
        return self.out((weights * outputs).sum(0))


model = Attend()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for i in torch.randperm(800).split(40):
        loss = nn.functional.cross_entropy(model(x[:, i]), kind[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(x[:, 800:]).argmax(1) == kind[800:]).float().mean().item())
