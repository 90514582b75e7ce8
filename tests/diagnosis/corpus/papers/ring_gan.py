"""A GAN with the non-saturating loss for a noisy ring in the plane, with a moving average of the generator."""
# fault: gan_imbalance

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
B, Z = 128, 4


def real(n):
    a = 2 * math.pi * torch.rand(n)
    r = 1.0 + 0.15 * torch.randn(n)
    return torch.stack([r * a.cos() + 0.5, r * a.sin()], 1)


def mlp(i, o, h):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


def energy(x, y):
    return 2 * torch.cdist(x, y).mean() - torch.cdist(x, x).mean() - torch.cdist(y, y).mean()


G, D = mlp(Z, 2, 48), mlp(2, 1, 48)
avg = copy.deepcopy(G).requires_grad_(False)
og = torch.optim.Adam(G.parameters(), lr=5e-6, betas=(0.5, 0.99))  # FAULT
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))  # REPAIRED
od = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.99))
with torch.no_grad():
    print(f"energy distance at the start {energy(avg(torch.randn(1000, Z)), real(1000)):.4f}")

for t in range(600):
    x, g = real(B), G(torch.randn(B, Z))
    dx, dg = D(x), D(g.detach())
    ld = F.softplus(-dx).mean() + F.softplus(dg).mean()
    od.zero_grad()
    ld.backward()
    od.step()

    lg = F.softplus(-D(g)).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    with torch.no_grad():
        for p, q in zip(avg.parameters(), G.parameters()):
            p.mul_(0.98).add_(q, alpha=0.02)
    if (t + 1) % 100 == 0:
        acc = 0.5 * ((dx > 0).float().mean() + (dg < 0).float().mean())
        print(f"{t + 1}: D {ld.item():.3f} G {lg.item():.3f} D accuracy {acc.item():.2f}")

with torch.no_grad():
    y = avg(torch.randn(1000, Z))
    print(f"energy distance at the end {energy(y, real(1000)):.4f}, among real {energy(real(1000), real(1000)):.4f}")
