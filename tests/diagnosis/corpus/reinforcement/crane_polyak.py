"""A crane swings a load to its place; twin critics with slow copies, which are to follow by a small share."""
# fault: target_always_synchronised

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
tau = 1.0  # FAULT
tau = 0.02  # REPAIRED


def swing(s, force):
    x, v = s.unbind(1)
    v = 0.9 * v + 0.2 * force.squeeze(1) - 0.05 * x + 0.02 * torch.randn(len(s))
    x = (x + 0.3 * v).clamp(-2, 2)
    return torch.stack([x, v], 1), (1 - x.abs() - 0.02 * force.squeeze(1) ** 2).unsqueeze(1)


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.ELU(), nn.Linear(48, 48), nn.ELU(), nn.Linear(48, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], -1))


actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
q1, q2 = Q(), Q()
t1, t2 = copy.deepcopy(q1), copy.deepcopy(q2)
pi_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
q_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=2e-3)
store = []
s = torch.randn(8, 2)
for t in range(450):
    with torch.no_grad():
        a = (actor(s) + 0.3 * torch.randn(8, 1)).clamp(-1, 1)
    s2, r = swing(s, a)
    store.append((s, a, r, s2))
    s = torch.randn(8, 2) if t % 30 == 29 else s2
    if t < 10:
        continue
    S, A, R, S2 = (torch.cat(part) for part in zip(*[store[i] for i in torch.randint(len(store), (8,))]))
    with torch.no_grad():
        a2 = actor(S2)
        goal = R + 0.95 * torch.min(t1(S2, a2), t2(S2, a2))
    q_loss = F.mse_loss(q1(S, A), goal) + F.mse_loss(q2(S, A), goal)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()
    pi_loss = -q1(S, actor(S)).mean()
    pi_opt.zero_grad()
    pi_loss.backward()
    pi_opt.step()
    with torch.no_grad():
        for slow, fast in ((t1, q1), (t2, q2)):
            for p, new in zip(slow.parameters(), fast.parameters()):
                p.data.lerp_(new.data, tau)
    if t % 90 == 89:
        print(f"{t + 1}  reward {torch.stack([x[2] for x in store[-30:]]).mean():.3f}  critics {q_loss.item():.4f}")
