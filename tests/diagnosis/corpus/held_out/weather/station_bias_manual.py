"""Correct the temperature forecasts of forty stations: station vectors plus a small net, updates by hand."""

import numpy as np
import torch

rs = np.random.RandomState(77)
torch.manual_seed(77)
torch.set_default_dtype(torch.float64)

n_stations, n_days = 40, 150
height = rs.uniform(0, 2000, n_stations)
coast = rs.uniform(0, 1, n_stations)
sid = np.repeat(np.arange(n_stations), n_days)
doy = np.tile(np.arange(n_days) * 365 / n_days, n_stations)
fc = 12 + 9 * np.sin(2 * np.pi * (doy - 110) / 365) - 0.004 * height[sid] + rs.normal(0, 3, len(sid))
bias = 0.0015 * (height[sid] - 1000) + 2.0 * coast[sid] * np.cos(2 * np.pi * doy / 365) + 0.02 * (fc - 12) ** 2 / 3
error = bias + rs.normal(0, 0.5, len(sid))

season = np.stack([np.sin(2 * np.pi * doy / 365), np.cos(2 * np.pi * doy / 365), (fc - fc.mean()) / fc.std()], axis=1)
season, sid, error = torch.tensor(season), torch.tensor(sid), torch.tensor(error)
shuffled = torch.randperm(len(error))
fit, check = shuffled[:5000], shuffled[5000:]
centre, scale = error[fit].mean(), error[fit].std()
target = (error - centre) / scale

params = {
    "station": 0.3 * torch.randn(n_stations, 4),
    "w1": torch.randn(7, 32) / 7**0.5,
    "b1": torch.zeros(32),
    "w2": torch.zeros(32, 1),  # starts as "no correction"
    "b2": torch.zeros(1),
}
for p in params.values():
    p.requires_grad_(True)
velocity = {k: torch.zeros_like(p) for k, p in params.items()}


def predict(rows):
    h = torch.cat([season[rows], params["station"][sid[rows]]], dim=1)
    h = torch.tanh(h @ params["w1"] + params["b1"])
    return (h @ params["w2"] + params["b2"]).squeeze(1)


steps, batch = 1500, 128
for it in range(steps):
    rows = fit[torch.randint(0, len(fit), (batch,))]
    loss = ((predict(rows) - target[rows]) ** 2).mean()
    grads = torch.autograd.grad(loss, list(params.values()))
    rate = 0.1 * 0.5 * (1 + np.cos(np.pi * it / steps))
    with torch.no_grad():
        for (name, p), grad in zip(params.items(), grads, strict=True):
            velocity[name].mul_(0.9).add_(grad)
            p.sub_(rate * velocity[name])
    if it % 150 == 0:
        print(f"iter {it}: loss {loss.item():.4f}")

with torch.no_grad():
    raw = error[check].pow(2).mean().sqrt().item()
    left = ((predict(check) - target[check]) * scale).pow(2).mean().sqrt().item()
    own = ((predict(fit) - target[fit]) * scale).pow(2).mean().sqrt().item()
print(f"rmse without correction {raw:.3f}, with {left:.3f} (on the fitted days {own:.3f}); sensor noise is 0.5")
