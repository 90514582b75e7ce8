"""Promise times for parcel deliveries: a net that predicts the 80 % quantile of the delivery hours (pinball loss)."""
# fault: target_broadcast

import numpy as np
import torch
from torch import nn

TAU = 0.8
SEED = 11
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)

# distance (km), weight (kg), weekday, depot load
n = 2400
km = rng.gamma(2.0, 15.0, n)
kg = rng.uniform(0.1, 20.0, n)
day = rng.integers(0, 7, n)
load = rng.beta(2, 3, n)
hours = 4 + 0.35 * km + 6 * (day >= 5) + 10 * load**2 + rng.gamma(2.0, 0.6 + 0.03 * km, n)

feats = np.column_stack([km, kg, np.sin(day * 2 * np.pi / 7), np.cos(day * 2 * np.pi / 7), day >= 5, load])
cut = 1800
order = rng.permutation(n)
tr, te = order[:cut], order[cut:]
mu, sd = feats[tr].mean(0), feats[tr].std(0)
x_tr = torch.tensor((feats[tr] - mu) / sd, dtype=torch.float32)
x_te = torch.tensor((feats[te] - mu) / sd, dtype=torch.float32)
y_tr = torch.tensor(hours[tr] / 10, dtype=torch.float32)
y_te = torch.tensor(hours[te] / 10, dtype=torch.float32)

qnet = nn.Sequential(nn.Linear(6, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))


def predict(x):
    return qnet(x)  # FAULT
    return qnet(x).squeeze(1)  # REPAIRED


def pinball(q, y, tau=TAU):
    diff = y - q
    return torch.maximum(tau * diff, (tau - 1) * diff).mean()


opt = torch.optim.Adam(qnet.parameters(), lr=3e-3)
for epoch in range(20):
    perm = torch.randperm(cut)
    total = 0.0
    for i in range(0, cut, 60):
        idx = perm[i : i + 60]
        opt.zero_grad()
        loss = pinball(predict(x_tr[idx]), y_tr[idx])
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 4 == 3:
        with torch.no_grad():
            q = predict(x_te)
            print(f"epoch {epoch + 1}: train {total / 30:.4f}  test {pinball(q, y_te).item():.4f}", end="  ")
            print(f"covered {(y_te <= q).float().mean().item():.3f}  mean promise {q.mean().item() * 10:.1f} h")
