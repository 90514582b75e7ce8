"""Variational autoencoder on digits: KL warm-up, home-made sign-momentum optimiser, averaged weights."""

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

NOISE = 0.2  # spread of the pixels about the decoded image


class SignMomentum(torch.optim.Optimizer):
    """Steps of equal size along the sign of an averaged gradient (as in Lion)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.98), decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "decay": decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                direction = (b1 * m + (1 - b1) * p.grad).sign()
                p.mul_(1 - group["lr"] * group["decay"]).sub_(group["lr"] * direction)
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.Softplus(beta=3), nn.Linear(128, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 128), nn.Softplus(beta=3), nn.Linear(128, 64))

    def forward(self, x):
        mu, logvar = self.enc(x - 0.3).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        return self.dec(z), mu, logvar


def elbo_terms(model, x):
    x_hat, mu, logvar = model(x)
    recon = ((x - x_hat) ** 2).sum(1).mean() / (2 * NOISE**2)
    kl = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(1).mean()
    return recon, kl


torch.manual_seed(70)
pixels = torch.tensor(load_digits().data, dtype=torch.float32) / 16
pixels = pixels[torch.randperm(len(pixels))]
train, test = pixels[:1500], pixels[1500:]

model = VAE()
average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.98))
opt = SignMomentum(model.parameters(), lr=1e-3, decay=0.01)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=600)
for step in range(600):
    x = train[torch.randint(len(train), (100,))]
    beta = min(1.0, step / 200)
    recon, kl = elbo_terms(model, x)
    loss = recon + beta * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    average.update_parameters(model)
    if step % 100 == 0 or step == 599:
        print(f"step {step:3d}  beta {beta:.2f}  recon {recon.item():.2f}  kl {kl.item():.2f}")

average.eval()
with torch.no_grad():
    recon, kl = elbo_terms(average.module, test)
    blank = ((test - train.mean(0)) ** 2).sum(1).mean() / (2 * NOISE**2)
print(f"test reconstruction {recon.item():.2f} (mean image {blank.item():.2f}), kl {kl.item():.2f}")
