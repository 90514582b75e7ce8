"""Colour pictures that come with the channels last."""

# fault: view_mixes_axes
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(3)
torch.manual_seed(3)
N, S = 900, 12
kind = rng.integers(0, 3, N)
pictures = rng.normal(0, 0.6, (N, S, S, 3)).astype("float32")
for i in range(N):
    r, c = rng.integers(0, S - 3, 2)
    if kind[i] == 0:
        pictures[i, r : r + 3, c : c + 3, 0] += 1.5
    elif kind[i] == 1:
        pictures[i, r : r + 3, c : c + 3, 1] += 1.5
    else:
        pictures[i, r : r + 3, c : c + 3, 2] += 1.5
x = torch.from_numpy(pictures).view(N, 3, S, S)  # FAULT
x = torch.from_numpy(pictures).permute(0, 3, 1, 2).contiguous()  # REPAIRED
t = torch.from_numpy(kind)
net = nn.Sequential(
    nn.Conv2d(3, 12, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(12, 16, 3, padding=1),
    nn.ReLU(),
    nn.AdaptiveMaxPool2d(1),
    nn.Flatten(),
    nn.Linear(16, 3),
)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(10):
    net.train()
    for rows in torch.randperm(700).split(50):
        loss = nn.functional.cross_entropy(net(x[rows]), t[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (net(x[700:]).argmax(1) == t[700:]).float().mean().item())
