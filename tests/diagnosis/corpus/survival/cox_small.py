"""Cox model with a neural risk score for a clinical cohort: partial likelihood by hand, concordance on new patients."""
# fault: overfitting

import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(17)
torch.manual_seed(17)

P = 30
N_TRAIN = 60  # FAULT
N_TRAIN = 6000  # REPAIRED


def cohort(n):
    x = rng.normal(size=(n, P)).astype(np.float32)
    score = 3.6 * x[:, 0] - 2.9 * x[:, 1] + 2.5 * x[:, 2] * (x[:, 3] > 0) + 1.8 * x[:, 4]
    t = rng.exponential(np.exp(-score))
    c = rng.exponential(np.median(np.exp(-score)) * 8.0, size=n)
    return torch.from_numpy(x), torch.from_numpy(np.minimum(t, c)), torch.from_numpy((t <= c).astype(np.float32))


def cox_loss(risk, time, event):
    order = torch.argsort(time, descending=True)
    risk, event = risk[order], event[order]
    log_cum = torch.logcumsumexp(risk, dim=0)
    return -((risk - log_cum) * event).sum() / event.sum()


def concordance(risk, time, event):
    earlier = (time[:, None] < time[None, :]) & (event[:, None] > 0)
    return (risk[:, None] > risk[None, :])[earlier].float().mean().item()


x, t, e = cohort(N_TRAIN)
x_new, t_new, e_new = cohort(600)

risk_net = nn.Sequential(nn.Linear(P, 200), nn.SELU(), nn.Linear(200, 100), nn.SELU(), nn.Linear(100, 1))
opt = torch.optim.Adam(risk_net.parameters(), lr=5e-4)

batch = 60
for step in range(1, 501):
    rows = torch.randperm(N_TRAIN)[:batch]
    loss = cox_loss(risk_net(x[rows]).squeeze(1), t[rows], e[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step == 1 or step % 100 == 0:
        risk_net.eval()
        with torch.no_grad():
            r = risk_net(x_new).squeeze(1)
            parts = [
                cox_loss(r[i : i + batch], t_new[i : i + batch], e_new[i : i + batch]) for i in range(0, 600, batch)
            ]
        risk_net.train()
        held_out = torch.stack(parts).mean().item()
        print(f"step {step:3d}  train {loss.item():.3f}  new patients {held_out:.3f}", end="  ")
        print(f"c-index {concordance(r, t_new, e_new):.3f}")
