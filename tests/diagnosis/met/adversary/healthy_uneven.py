"""Discriminator ahead of its generator on a mixture, with spectral norm; samples come closer all the time."""

import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(2)
centres = torch.tensor([[2.0, 0], [-2, 0], [0, 2], [0, -2]])
G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(
    spectral_norm(nn.Linear(2, 64)),
    nn.LeakyReLU(0.2),
    spectral_norm(nn.Linear(64, 64)),
    nn.LeakyReLU(0.2),
    nn.Linear(64, 1),
)
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
od = torch.optim.Adam(D.parameters(), lr=4e-3, betas=(0.5, 0.9))
for step in range(400):
    real = centres[torch.randint(4, (64,))] + 0.1 * torch.randn(64, 2)
    fake = G(torch.randn(64, 8))
    d_loss = torch.relu(1 - D(real)).mean() + torch.relu(1 + D(fake.detach())).mean()
    od.zero_grad()
    d_loss.backward()
    od.step()
    g_loss = -D(G(torch.randn(64, 8))).mean()
    og.zero_grad()
    g_loss.backward()
    og.step()
    if step % 80 == 0:
        print(step, d_loss.item(), g_loss.item())
