"""Denoising score matching for a grid of nine tight clusters; Adam written out, samples drawn at the end."""
# fault: missing_zero_grad

import torch
import torch.nn as nn

torch.manual_seed(19)
SIGMA = 0.35

grid = torch.cartesian_prod(torch.tensor([-1.5, 0.0, 1.5]), torch.tensor([-1.5, 0.0, 1.5]))


def draw(n):
    return grid[torch.randint(0, 9, (n,))] + 0.03 * torch.randn(n, 2)


eps_net = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))
weights = list(eps_net.parameters())
first = [torch.zeros_like(w) for w in weights]
second = [torch.zeros_like(w) for w in weights]
LR, B1, B2 = 4e-3, 0.9, 0.99


def dsm_loss(x):
    noise = torch.randn_like(x)
    return ((eps_net(x + SIGMA * noise) - noise) ** 2).sum(dim=1).mean()


def adam_step(t):
    with torch.no_grad():
        for w, m, v in zip(weights, first, second):
            m.mul_(B1).add_(w.grad, alpha=1 - B1)
            v.mul_(B2).addcmul_(w.grad, w.grad, value=1 - B2)
            w -= LR * (m / (1 - B1**t)) / ((v / (1 - B2**t)).sqrt() + 1e-8)
            w.grad = None  # REPAIRED


trace = []
for it in range(1, 1201):
    loss = dsm_loss(draw(128))
    loss.backward()
    adam_step(it)
    trace.append(loss.item())
    if it % 100 == 0:
        print(f"iter {it}: loss {sum(trace[-100:]) / 100:.4f}")

with torch.no_grad():
    z = 2 * torch.randn(500, 2)
    for _ in range(60):
        z = (z - 0.2 * SIGMA * eps_net(z)).clamp(-4, 4)
    nearest = torch.cdist(z, grid).min(dim=1).values
print(f"distance of samples to the nearest cluster: median {nearest.median().item():.3f}")
