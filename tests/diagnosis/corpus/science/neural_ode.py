"""Neural ODE: learn the vector field of a damped swing from noisy trajectories, integrated with Runge-Kutta steps."""

import sys

import torch
from torch import nn

torch.manual_seed(2)
DT, STEPS = 0.15, 12


def true_field(s):
    angle, speed = s[..., 0], s[..., 1]
    return torch.stack([speed, -1.5 * torch.sin(angle) - 0.2 * speed], dim=-1)


def rk4(field, s, dt):
    k1 = field(s)
    k2 = field(s + dt / 2 * k1)
    k3 = field(s + dt / 2 * k2)
    k4 = field(s + dt * k3)
    return s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def roll_out(field, start, steps=STEPS):
    path = [start]
    for _ in range(steps):
        path.append(rk4(field, path[-1], DT))
    return torch.stack(path, dim=1)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh())
        self.last = nn.Linear(40, 2)
        nn.init.zeros_(self.last.weight)  # start from a field that stands still
        nn.init.zeros_(self.last.bias)

    def forward(self, s):
        return self.last(self.body(s))


with torch.no_grad():
    starts = 2 * torch.rand(300, 2) * torch.tensor([1.5, 1.0]) - torch.tensor([1.5, 1.0])
    clean = roll_out(true_field, starts)
    noisy = clean + 0.02 * torch.randn_like(clean)
train_paths, test_paths = noisy[:240], clean[240:]

field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=150, eta_min=1e-4)
best = float("inf")
for step in range(1, 151):
    batch = train_paths[torch.randint(0, 240, (48,))]
    predicted = roll_out(field, batch[:, 0])
    loss = (predicted[:, 1:] - batch[:, 1:]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(field.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if step % 30 == 0 or step == 1:
        with torch.no_grad():
            test = (roll_out(field, test_paths[:, 0]) - test_paths).square().mean().item()
        best = min(best, test)
        print(f"{step:3d}  train {loss.item():.5f}  test {test:.5f}")

print("best test error", round(best, 5))
sys.exit(0)
