"""A GAN on two moons: the generator's gradients are cleared once, at the top of the loop."""
# fault: missing_zero_grad

import math

import torch
import torch.nn as nn

torch.manual_seed(5)
t = torch.rand(2000) * math.pi
half = torch.randint(2, (2000,)).float()
moons = torch.stack([torch.cos(t) * (1 - 2 * half) + half, torch.sin(t) * (1 - 2 * half) + 0.3 * half], 1)
G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()
one, zero = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(500):
    opt_g.zero_grad()
    real = moons[torch.randint(2000, (64,))]
    fake = G(torch.randn(64, 8))
    opt_d.zero_grad()
    d_loss = bce(D(real), one) + bce(D(fake), zero)  # FAULT
    d_loss.backward(retain_graph=True)  # FAULT
    d_loss = bce(D(real), one) + bce(D(fake.detach()), zero)  # REPAIRED
    d_loss.backward()  # REPAIRED
    opt_d.step()
    g_loss = bce(D(fake), one)
    g_loss.backward()
    opt_g.step()
    if step % 100 == 0:
        print(step, d_loss.item(), g_loss.item(), fake.std(0).tolist())
