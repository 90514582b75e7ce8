"""Position of a damped spring as a smooth surface over time, damping and stiffness; full batch with L-BFGS."""

import torch
from torch import nn

torch.manual_seed(14)


def spring(t, damping, stiffness):
    omega = stiffness.sqrt()
    return torch.exp(-damping * t) * torch.cos(omega * t)


def draw(n, noise):
    t = 3 * torch.rand(n)
    damping = 0.1 + 0.9 * torch.rand(n)
    stiffness = 0.5 + 3.5 * torch.rand(n)
    target = spring(t, damping, stiffness) + noise * torch.randn(n)
    scaled = torch.stack([(t - 1.5) / 0.87, (damping - 0.55) / 0.26, (stiffness - 2.25) / 1.01], dim=1)
    return scaled, target.unsqueeze(1)


inputs, targets = draw(2500, noise=0.02)
test_inputs, test_targets = draw(500, noise=0.0)

surface = nn.Sequential(nn.Linear(3, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
mse = nn.MSELoss()
lbfgs = torch.optim.LBFGS(surface.parameters(), lr=1.0, max_iter=4, history_size=10, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    value = mse(surface(inputs), targets)
    value.backward()
    return value


print(f"start: {mse(surface(inputs), targets).item():.5f}")
for outer in range(1, 91):
    value = lbfgs.step(closure)
    if outer % 10 == 0:
        with torch.no_grad():
            rmse = mse(surface(test_inputs), test_targets).sqrt().item()
        print(f"outer {outer:3d}  train mse {value.item():.6f}  test rmse {rmse:.4f}")
