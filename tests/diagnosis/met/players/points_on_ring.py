"""A small GAN for points on a ring."""

# fault: gan_imbalance
import math

import torch
from torch import nn

torch.manual_seed(0)


def ring(n):
    a = torch.rand(n, 1) * 2 * math.pi
    return torch.cat([a.cos(), a.sin()], 1) * 2 + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(
    nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid()
)
bce = nn.BCELoss()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
real_label, fake_label = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(500):
    real = ring(64)
    fake = G(torch.randn(64, 4))
    loss_d = bce(D(real), real_label) + bce(D(fake.detach()), fake_label)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = bce(D(fake), fake_label)  # FAULT
    loss_g = bce(D(fake), real_label)  # REPAIRED
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 100 == 99:
        radius = fake.detach().norm(dim=1)
        print(step + 1, f"D {loss_d.item():.3f} G {loss_g.item():.3f} radius {radius.mean():.2f} (2 is right)")
