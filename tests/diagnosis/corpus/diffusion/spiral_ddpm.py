"""Denoising diffusion of points on a two-armed spiral."""
# fault: unregistered_params

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(6)
np.random.seed(6)


def spiral(n):
    arm = np.random.randint(0, 2, n) * np.pi
    r = np.sqrt(np.random.rand(n)) * 2.2 + 0.2
    ang = 2.2 * r + arm
    xy = np.stack([r * np.cos(ang), r * np.sin(ang)], 1) + 0.03 * np.random.randn(n, 2)
    return torch.tensor(xy / 1.2, dtype=torch.float32)


# noise schedule
STEPS = 60
betas = torch.linspace(1e-4, 0.12, STEPS)
alpha_bar = torch.cumprod(1 - betas, 0)


class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim)
        self.fc2 = nn.Linear(dim, dim)
        self.time = nn.Linear(16, dim)

    def forward(self, h, emb):
        return h + self.fc2(nn.functional.silu(self.fc1(self.norm(h)) + self.time(emb)))


class Denoiser(nn.Module):
    def __init__(self, dim=48, depth=4):
        super().__init__()
        self.first = nn.Linear(2, dim)
        self.blocks = [ResBlock(dim) for _ in range(depth)]  # FAULT
        self.blocks = nn.ModuleList([ResBlock(dim) for _ in range(depth)])  # REPAIRED
        self.last = nn.Linear(dim, 2)

    def forward(self, x, t):
        freq = torch.exp(torch.linspace(0, 3, 8))
        angle = t[:, None] / STEPS * freq
        emb = torch.cat([angle.sin(), angle.cos()], 1)
        h = self.first(x)
        for block in self.blocks:
            h = block(h, emb)
        return self.last(h)


@torch.no_grad()
def sample(net, n):
    x = torch.randn(n, 2)
    for k in reversed(range(STEPS)):
        eps = net(x, torch.full((n,), float(k)))
        x = (x - betas[k] / (1 - alpha_bar[k]).sqrt() * eps) / (1 - betas[k]).sqrt()
        if k > 0:
            x += betas[k].sqrt() * torch.randn_like(x)
    return x


net = Denoiser()
print("parameters:", sum(p.numel() for p in net.parameters()))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
smooth = None
for it in range(640):
    x0 = spiral(128)
    t = torch.randint(0, STEPS, (128,))
    noise = torch.randn_like(x0)
    ab = alpha_bar[t][:, None]
    xt = ab.sqrt() * x0 + (1 - ab).sqrt() * noise
    loss = (net(xt, t.float()) - noise).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    smooth = loss.item() if smooth is None else 0.98 * smooth + 0.02 * loss.item()
    if it % 100 == 0 or it == 639:
        print(it, "loss", round(smooth, 4))

pts = sample(net, 500)
gap = torch.cdist(pts, spiral(2000)).min(1).values
print(f"mean distance of samples to the spiral: {gap.mean():.3f}")
