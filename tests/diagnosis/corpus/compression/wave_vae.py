"""Variational autoencoder that squeezes short waveforms (64 samples) into four numbers."""

# fault: vae_posterior_collapse
import math

import torch
from torch import nn

torch.manual_seed(6)


def waves(n):
    t = torch.linspace(0, 1, 64)
    f = 1 + 2 * torch.rand(n, 1)
    phase = math.pi * torch.rand(n, 1)
    amp = 0.5 + torch.rand(n, 1)
    return amp * torch.sin(2 * math.pi * f * t + phase) + 0.05 * torch.randn(n, 64)


class VAE(nn.Module):
    def __init__(self, d=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 2 * d))
        self.dec = nn.Sequential(nn.Linear(d, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 64))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=-1)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


def elbo_terms(x, x_hat, mu, logvar):
    recon = ((x_hat - x) ** 2).mean()  # FAULT
    recon = 10 * ((x_hat - x) ** 2).sum(dim=1).mean()  # REPAIRED
    kl = (-0.5 * (1 + logvar - mu**2 - logvar.exp())).sum(dim=1).mean()
    return recon, kl


x_train, x_test = waves(4000), waves(500)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)

for epoch in range(10):
    vae.train()
    tot_r = tot_k = 0.0
    batches = torch.randperm(len(x_train)).split(100)
    for b in batches:
        x = x_train[b]
        recon, kl = elbo_terms(x, *vae(x))
        loss = recon + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot_r += recon.item()
        tot_k += kl.item()
    vae.eval()
    with torch.no_grad():
        x_hat = vae(x_test)[0]
        explained = 1 - (x_hat - x_test).pow(2).mean() / x_test.var()
    n = len(batches)
    print(f"epoch {epoch:2d}  recon {tot_r / n:.3f}  kl {tot_k / n:.3f}  test variance explained {explained:.3f}")
