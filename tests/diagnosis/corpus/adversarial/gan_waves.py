"""GAN that learns to produce short sine waves of random phase and height (32 samples each)."""
# fault: gan_imbalance

import math

import torch
from torch import nn

torch.manual_seed(4)

T = 32
time = torch.linspace(0, 2 * math.pi, T)


def real_waves(n):
    phase = 2 * math.pi * torch.rand(n, 1)
    height = 0.5 + 0.4 * torch.rand(n, 1)
    return height * torch.sin(time + phase)


G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, T), nn.Tanh())
D = nn.Sequential(nn.Linear(T, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

lr_G, lr_D = 2e-5, 4e-3  # FAULT
lr_G, lr_D = 2e-3, 2e-3  # REPAIRED
opt_G = torch.optim.Adam(G.parameters(), lr=lr_G, betas=(0.5, 0.99))
opt_D = torch.optim.Adam(D.parameters(), lr=lr_D, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()


def wave_misfit(x):
    """Root mean square distance of each curve from the nearest sine of that period."""
    basis = torch.stack([torch.sin(time), torch.cos(time)], dim=1)
    coef = torch.linalg.lstsq(basis, x.T).solution
    return (x.T - basis @ coef).pow(2).mean(0).sqrt().mean().item(), coef.norm(dim=0).mean().item()


for it in range(1, 601):
    real = real_waves(64)
    fake = G(torch.randn(64, 8)).detach()
    d_loss = bce(D(real), torch.ones(64, 1)) + bce(D(fake), torch.zeros(64, 1))
    opt_D.zero_grad()
    d_loss.backward()
    opt_D.step()

    fake = G(torch.randn(64, 8))
    g_loss = bce(D(fake), torch.ones(64, 1))
    opt_G.zero_grad()
    g_loss.backward()
    opt_G.step()

    if it % 100 == 0:
        with torch.no_grad():
            misfit, height = wave_misfit(G(torch.randn(500, 8)))
            seen_real = torch.sigmoid(D(real_waves(500))).mean().item()
            seen_fake = torch.sigmoid(D(G(torch.randn(500, 8)))).mean().item()
        print(
            f"{it}: D {d_loss.item():.3f} G {g_loss.item():.3f} D(x) {seen_real:.2f} D(G(z)) {seen_fake:.2f}", end=" "
        )
        print(f"misfit {misfit:.3f} height {height:.2f}")
