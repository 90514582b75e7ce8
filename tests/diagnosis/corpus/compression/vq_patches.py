"""VQ autoencoder with an EMA codebook: packs oriented 6x6 texture patches into two symbols of a 32-word codebook."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, IterableDataset


class Patches(IterableDataset):
    """endless stream of gratings with random direction and phase"""

    def __iter__(self):
        u = torch.linspace(-1, 1, 6)
        yy, xx = torch.meshgrid(u, u, indexing="ij")
        while True:
            a, ph = torch.rand(2).mul(torch.tensor([math.pi, 2 * math.pi])).tolist()
            g = torch.sin(2.5 * (math.cos(a) * xx + math.sin(a) * yy) + ph)
            yield (g + 0.05 * torch.randn(6, 6)).flatten()


class EMAQuantizer(nn.Module):
    def __init__(self, words=32, dim=4, decay=0.95):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.zeros(words, dim))
        self.register_buffer("count", torch.ones(words))
        self.register_buffer("total", torch.zeros(words, dim))

    @torch.no_grad()
    def start_from(self, z):
        self.codes.copy_(z[torch.randperm(len(z))[: len(self.codes)]])
        self.total.copy_(self.codes)

    def forward(self, z):
        idx = torch.cdist(z.detach(), self.codes).argmin(1)
        if self.training:
            with torch.no_grad():
                hot = F.one_hot(idx, len(self.codes)).float()
                self.count.lerp_(hot.sum(0), 1 - self.decay)
                self.total.lerp_(hot.T @ z, 1 - self.decay)
                self.codes.copy_(self.total / self.count.clamp(min=1e-2)[:, None])
        zq = self.codes[idx]
        commit = F.mse_loss(z, zq)
        return z + (zq - z).detach(), commit, idx


torch.manual_seed(51)
enc = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 8))
dec = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 36))
vq = EMAQuantizer()
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)
stream = iter(DataLoader(Patches(), batch_size=64))

with torch.no_grad():
    vq.start_from(enc(next(stream)).view(-1, 4))


def run(x):
    zq, commit, idx = vq(enc(x).view(-1, 4))
    return dec(zq.view(-1, 8)), commit, idx


for step in range(1, 301):
    x = next(stream)
    x_hat, commit, idx = run(x)
    loss = F.mse_loss(x_hat, x) + 0.25 * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0 or step == 1:
        print(f"step {step}: loss {loss.item():.4f}, words used in the batch {len(idx.unique())}/32")

for m in (enc, dec, vq):
    m.eval()
with torch.no_grad():
    x = torch.cat([next(stream) for _ in range(6)])
    x_hat, _, idx = run(x)
print(f"held-out mse {F.mse_loss(x_hat, x):.4f} (variance {x.var():.4f}), words used {len(idx.unique())}/32")
