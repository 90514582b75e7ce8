"""Fails in the middle of a step, with an error of its own."""

import torch
from torch import nn


class Unlucky(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 31:
            raise ValueError("no more of this")
        return self.inner(x)


torch.manual_seed(14)
net = nn.Sequential(Unlucky(), nn.ReLU(), nn.Linear(3, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
while True:
    x = torch.randn(16, 3)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item().hex())
