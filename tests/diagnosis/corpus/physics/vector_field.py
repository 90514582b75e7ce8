"""Learns the flow of a Van der Pol oscillator from pairs of states a short time apart (network inside an RK4 step)."""
# fault: constant_init

import torch
from torch import nn

torch.manual_seed(40)
DT = 0.1


def van_der_pol(s):
    x, v = s[..., 0], s[..., 1]
    return torch.stack([v, 1.0 * (1 - x**2) * v - x], -1)


def rk4(f, s, h):
    k1 = f(s)
    k2 = f(s + 0.5 * h * k1)
    k3 = f(s + 0.5 * h * k2)
    k4 = f(s + h * k3)
    return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def observed_pairs(n):
    s = (torch.rand(n, 2) * 2 - 1) * torch.tensor([2.2, 2.6])
    nxt = s
    for _ in range(4):
        nxt = rk4(van_der_pol, nxt, DT / 4)
    return s, nxt + 0.002 * torch.randn_like(nxt)


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.constant_(m.weight, 0.05)  # FAULT
        nn.init.xavier_uniform_(m.weight)  # REPAIRED
        nn.init.zeros_(m.bias)


field = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 50), nn.Tanh(), nn.Linear(50, 2))
field.apply(init_weights)

s_train, n_train = observed_pairs(1500)
s_test, n_test = observed_pairs(400)
opt = torch.optim.Adam(field.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=10, gamma=0.4)

for epoch in range(1, 41):
    total = 0.0
    for i in torch.randperm(1500).chunk(15):
        # error in the mean velocity over the interval
        err = (rk4(field, s_train[i], DT) - n_train[i]) / DT
        loss = err.pow(2).sum(-1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 15
    sched.step()
    if epoch % 5 == 0 or epoch == 1:
        with torch.no_grad():
            rmse = ((rk4(field, s_test, DT) - n_test) / DT).pow(2).sum(-1).mean().sqrt()
        print(f"epoch {epoch:2d} | train {total:.4f} | test rmse of velocity {rmse:.4f}")

with torch.no_grad():
    a = b = torch.tensor([[0.5, 0.0]])
    for _ in range(60):
        a, b = rk4(field, a, DT), rk4(van_der_pol, b, DT)
print("state after 6 s: learned", [round(v, 3) for v in a[0].tolist()], "true", [round(v, 3) for v in b[0].tolist()])
