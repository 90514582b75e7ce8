"""A sequence task that takes long to catch on: remember a sign over eight steps; stopped early."""

import torch
import torch.nn as nn

torch.manual_seed(2)
seq = torch.randint(1, 8, (1500, 8))
answer = seq[:, 0] - 1


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(8, 16), nn.LSTM(16, 48, batch_first=True), nn.Linear(48, 7)

    def forward(self, s):
        h, _ = self.r(self.e(s))
        return self.o(h[:, -1])


net = Memory()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for step in range(120):
    i = torch.randint(1500, (48,))
    loss = nn.functional.cross_entropy(net(seq[i]), answer[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
