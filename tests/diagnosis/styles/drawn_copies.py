"""A model whose copies draw seeds of their own, as those of some frameworks do."""

import random

import numpy as np
import torch
from torch import nn


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.seed = random.random() + np.random.rand() + torch.rand(()).item()
        self.inner = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))

    def __deepcopy__(self, memo):
        return Noisy()

    def forward(self, x):
        return self.inner(x + 0.01 * random.random() + 0.01 * float(np.random.rand()) + 0.01 * torch.randn_like(x))


random.seed(3)
np.random.seed(3)
torch.manual_seed(3)
net = Noisy()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(40):
    x = torch.randn(32, 5)
    loss = (net(x) - x.mean(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item().hex(), random.random(), np.random.rand(), torch.rand(()).item())
