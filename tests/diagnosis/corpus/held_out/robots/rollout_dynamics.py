"""Learns the dynamics of a driven pendulum by backpropagating through long open-loop rollouts."""
# fault: exploding_gradient

import math

import torch
from torch import nn

torch.manual_seed(21)
H, DT = 60, 0.05


def simulate(n):
    s = torch.stack([torch.empty(n).uniform_(-1.5, 1.5), torch.empty(n).uniform_(-1.0, 1.0)], 1)
    phase, freq = torch.rand(n, 1) * 2 * math.pi, 0.5 + torch.rand(n, 1)
    u = torch.sin(freq * torch.arange(H) * DT * 2 + phase)
    traj = [s]
    for t in range(H):
        theta, omega = s[:, 0], s[:, 1]
        acc = -2.0 * torch.sin(theta) - 0.4 * omega + u[:, t]
        s = torch.stack([theta + DT * omega, omega + DT * acc], 1)
        traj.append(s)
    return torch.stack(traj, 1), u


class Dynamics(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.f = nn.Sequential(
            nn.Linear(3, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2)
        )
        for m in self.f:
            if isinstance(m, nn.Linear):
                nn.init.orthogonal_(m.weight)
                nn.init.zeros_(m.bias)

    def step(self, s, a):
        change = self.f(torch.cat([s, a], dim=1))
        return s + change  # FAULT
        return s + DT * change  # REPAIRED

    def rollout(self, s, actions):
        out = []
        for t in range(actions.shape[1]):
            s = self.step(s, actions[:, t : t + 1])
            out.append(s)
        return torch.stack(out, 1)


train_traj, train_u = simulate(600)
val_traj, val_u = simulate(200)
model = Dynamics()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
mse = nn.MSELoss()

for it in range(1, 181):
    pick = torch.randint(0, len(train_traj), (32,))
    pred = model.rollout(train_traj[pick, 0], train_u[pick])
    loss = mse(pred, train_traj[pick, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it == 1 or it % 30 == 0:
        print(f"it {it:4d}  {H}-step rollout mse {loss.item():.5f}")

model.eval()
with torch.no_grad():
    err = mse(model.rollout(val_traj[:, 0], val_u), val_traj[:, 1:])
print(f"validation rollout mse {err.item():.5f}")
