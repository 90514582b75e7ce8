"""Gradients of gradients: a penalty on the slope, and an update inside of an update."""

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(10)
critic = nn.Sequential(nn.Linear(3, 32), nn.Softplus(), nn.Linear(32, 1))
opt = torch.optim.Adam(critic.parameters(), lr=2e-3)
for step in range(40):
    a, b = torch.randn(32, 3) + 1, torch.randn(32, 3) - 1
    mixed = torch.lerp(a, b, torch.rand(32, 1)).requires_grad_()
    (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    loss = critic(b).mean() - critic(a).mean() + 10 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item().hex(), penalty.item().hex())

net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
meta = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(30):
    amplitude, x = torch.rand(1) + 0.5, torch.rand(20, 1) * 6
    weights = dict(net.named_parameters())
    inner = (functional_call(net, weights, x) - amplitude * x.sin()).pow(2).mean()
    grads = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
    moved = {name: w - 0.02 * g for (name, w), g in zip(weights.items(), grads, strict=True)}
    outer = (functional_call(net, moved, x) - amplitude * x.sin()).pow(2).mean()
    meta.zero_grad()
    outer.backward()
    meta.step()
    print(step, inner.item().hex(), outer.item().hex())
