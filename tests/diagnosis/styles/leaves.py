"""Ends with an exit code of its own, after the last line it prints at exit."""

import atexit
import sys

import torch
from torch import nn

atexit.register(print, "at exit")
torch.manual_seed(13)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(40, 3)
for step in range(100):
    opt.zero_grad()
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()
    opt.step()
    print(step, loss.item().hex())
    if loss < 0.01:
        sys.exit(3)
