"""Solve for the eccentric anomaly of an orbit with a small double-precision network and our own optimizer."""

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer

torch.set_default_dtype(torch.float64)
torch.manual_seed(9)


class SignMomentum(Optimizer):
    """Sign of an interpolated momentum, with decoupled decay and a linear cool-down built in."""

    def __init__(self, params, lr, betas=(0.9, 0.99), decay=0.0, total=1000):
        super().__init__(params, {"lr": lr, "betas": betas, "decay": decay, "total": total})
        self.count = 0

    @torch.no_grad()
    def step(self, closure=None):
        self.count += 1
        for group in self.param_groups:
            b1, b2 = group["betas"]
            rate = group["lr"] * max(0.0, 1.0 - (self.count - 1) / group["total"])
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - rate * group["decay"])
                p.sub_(rate * torch.sign(b1 * m + (1 - b1) * p.grad))
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


def kepler(mean_anomaly, ecc):
    e = mean_anomaly.copy()
    for _ in range(30):
        e -= (e - ecc * np.sin(e) - mean_anomaly) / (1 - ecc * np.cos(e))
    return e


rng = np.random.default_rng(9)
anomaly, ecc = rng.uniform(-np.pi, np.pi, 5000), rng.uniform(0.0, 0.7, 5000)
x = torch.from_numpy(np.stack([anomaly / 1.81, (ecc - 0.35) / 0.2], axis=1))
y = torch.from_numpy(kepler(anomaly, ecc) - anomaly).unsqueeze(1)
x_fit, y_fit, x_check, y_check = x[:4200], y[:4200], x[4200:], y[4200:]

net = nn.Sequential(nn.Linear(2, 88), nn.SiLU(), nn.Linear(88, 88), nn.SiLU(), nn.Linear(88, 1))
steps = 800
opt = SignMomentum(net.parameters(), lr=1e-3, decay=0.01, total=steps)

for step in range(steps):
    rows = torch.from_numpy(rng.choice(4200, size=160, replace=False))
    residual = net(x_fit[rows]) - y_fit[rows]
    loss = torch.mean(residual**2)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if (step + 1) % 100 == 0:
        with torch.no_grad():
            err = (net(x_check) - y_check).abs().max().item()
        print(f"step {step + 1:4d}  mse {loss.item():.3e}  worst error {err:.4f} rad")
