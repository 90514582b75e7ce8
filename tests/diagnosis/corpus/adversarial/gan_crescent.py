"""Plain GAN on a crescent of points in the plane; an averaged copy of the generator is used for the final samples."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)


def crescent(n):
    t = math.pi * torch.rand(n)
    p = torch.stack([1.4 * torch.cos(t), 1.4 * torch.sin(t) - 0.9], dim=1)
    return p + 0.08 * torch.randn(n, 2)


def mlp(sizes, act):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


generator = mlp([4, 48, 48, 2], nn.ReLU)
critic = mlp([2, 64, 64, 1], lambda: nn.LeakyReLU(0.2))
averaged = copy.deepcopy(generator).requires_grad_(False)

g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
d_opt = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.9))


def sliced_distance(a, b, directions=64):
    theta = math.pi * torch.arange(directions) / directions
    u = torch.stack([theta.cos(), theta.sin()])
    return ((a @ u).sort(0).values - (b @ u).sort(0).values).abs().mean().item()


held_out = crescent(1000)
z_test = torch.randn(1000, 4)
print("distance before training", round(sliced_distance(averaged(z_test), held_out), 3))

for step in range(900):
    real = crescent(96)
    z = torch.randn(96, 4)
    # softplus(-x) = -log sigmoid(x)
    d_loss = F.softplus(-critic(real)).mean() + F.softplus(critic(generator(z).detach())).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    g_loss = F.softplus(-critic(generator(z))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()

    with torch.no_grad():
        for slow, fast in zip(averaged.parameters(), generator.parameters()):
            slow.lerp_(fast, 0.02)
    if step % 150 == 149:
        gap = sliced_distance(averaged(z_test), held_out)
        print(f"{step + 1:4d}  d {d_loss.item():.3f}  g {g_loss.item():.3f}  distance {gap:.3f}")
