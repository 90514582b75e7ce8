"""Variational autoencoder on small synthetic images: one bright Gaussian spot per 12x12 picture."""
# fault: vae_posterior_collapse

import torch
import torch.nn as nn

torch.manual_seed(3)
SIDE, LATENT, SIGMA = 12, 3, 0.1


def make_spots(n):
    axis = torch.arange(SIDE, dtype=torch.float32)
    cx, cy = 2 + 7 * torch.rand(n, 1, 1), 2 + 7 * torch.rand(n, 1, 1)
    width = 1.2 + 0.6 * torch.rand(n, 1, 1)
    dist = (axis.view(1, 1, -1) - cx) ** 2 + (axis.view(1, -1, 1) - cy) ** 2
    return torch.exp(-dist / (2 * width**2)).flatten(1)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(SIDE * SIDE, 128), nn.SiLU(), nn.Linear(128, 64), nn.SiLU())
        self.to_mu = nn.Linear(64, LATENT)
        self.to_logvar = nn.Linear(64, LATENT)
        self.dec = nn.Sequential(
            nn.Linear(LATENT, 64), nn.SiLU(), nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, SIDE * SIDE)
        )

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.to_mu(h), self.to_logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


def vae_loss(x_hat, x, mu, logvar):
    err = (x_hat - x) ** 2 / (2 * SIGMA**2)
    recon = err.mean()  # FAULT
    recon = err.sum(dim=1).mean()  # REPAIRED
    kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(dim=1).mean()
    return recon + kl, recon, kl


train_x, test_x = make_spots(2048), make_spots(512)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)

for epoch in range(24):
    vae.train()
    perm = torch.randperm(len(train_x))
    sums = torch.zeros(3)
    for i in range(0, len(perm), 128):
        xb = train_x[perm[i : i + 128]]
        x_hat, mu, logvar = vae(xb)
        loss, recon, kl = vae_loss(x_hat, xb, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sums += torch.tensor([loss.item(), recon.item(), kl.item()])
    if epoch % 4 == 0 or epoch == 23:
        total, rec, kld = (sums / (len(perm) // 128)).tolist()
        print(f"epoch {epoch:2d}  loss {total:.3f}  recon {rec:.3f}  kl {kld:.4f}")

vae.eval()
with torch.no_grad():
    x_hat, mu, logvar = vae(test_x)
    explained = 1 - ((x_hat - test_x) ** 2).sum() / ((test_x - test_x.mean(0)) ** 2).sum()
print(f"test: explained variance {explained:.3f}, std of mu per latent {[round(s, 3) for s in mu.std(0).tolist()]}")
