"""Momentum and decay by hand over a module's parameters, with the data moved in place."""

import torch
import torch.nn as nn

torch.manual_seed(4)
x = torch.randn(800, 6)
y = (x[:, :1] - x[:, 1:2] ** 2).tanh()
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
speed = [torch.zeros_like(p) for p in net.parameters()]
for step in range(400):
    i = torch.randint(800, (40,))
    loss = (net(x[i]) - y[i]).square().mean()
    net.zero_grad()
    loss.backward()
    for p, v in zip(net.parameters(), speed):
        v.mul_(0.9).add_(p.grad + 1e-4 * p.data)
        p.data.add_(v, alpha=-0.02)
    if step % 80 == 0:
        print(step, loss.item())
