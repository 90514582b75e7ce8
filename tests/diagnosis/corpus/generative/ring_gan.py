"""GAN on the ring of six Gaussians, the usual two-dimensional toy."""
# fault: gan_imbalance

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--seed", type=int, default=11)
parser.add_argument("--g-per-d", type=int, default=8)  # FAULT
parser.add_argument("--g-per-d", type=int, default=1)  # REPAIRED
args = parser.parse_args()
torch.manual_seed(args.seed)

angles = torch.arange(6) * (2 * math.pi / 6)
CENTRES = 1.6 * torch.stack([angles.cos(), angles.sin()], dim=1)


def sample_data(n):
    return CENTRES[torch.randint(6, (n,))] + 0.2 * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.l1 = nn.Linear(4, hidden)
        self.l2 = nn.Linear(hidden, hidden)
        self.l3 = nn.Linear(hidden, 2)

    def forward(self, n):
        h = torch.relu(self.l1(torch.randn(n, 4)))
        return self.l3(torch.relu(self.l2(h)))


class Discriminator(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, hidden), nn.LeakyReLU(), nn.Linear(hidden, hidden), nn.LeakyReLU())
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(1)


G, D = Generator(), Discriminator()
g_opt = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.99))
d_opt = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.0, 0.99))
softplus = nn.functional.softplus


def modes(points):
    dist, which = torch.cdist(points, CENTRES).min(dim=1)
    share = torch.bincount(which[dist < 0.6], minlength=6).float() / len(points)
    return int((share > 0.02).sum()), (dist < 0.6).float().mean().item()


for step in range(args.steps):
    d_opt.zero_grad()
    d_loss = softplus(-D(sample_data(args.batch))).mean() + softplus(D(G(args.batch).detach())).mean()
    d_loss.backward()
    d_opt.step()

    for _ in range(args.g_per_d):
        g_opt.zero_grad()
        g_loss = softplus(-D(G(args.batch))).mean()
        g_loss.backward()
        g_opt.step()

    if step % 50 == 49:
        with torch.no_grad():
            n_modes, good = modes(G(1000))
        print(f"step {step + 1:4d}  d {d_loss:.3f}  g {g_loss:.3f}  modes {n_modes}/6  near a mode {good:.2f}")

with torch.no_grad():
    out = G(2000)
print("final modes and share near one:", modes(out), " std of samples:", out.std(0).tolist())
