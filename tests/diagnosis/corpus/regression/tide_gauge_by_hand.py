"""Tide height over time from harmonic inputs; the parameters sit in a dict and are updated by hand."""

import math

import torch

torch.manual_seed(33)

hours = torch.rand(3000) * 24 * 28
M2, S2, K1 = 12.42, 12.0, 23.93


def height(t):
    wave = 1.3 * torch.sin(2 * math.pi * t / M2) + 0.5 * torch.sin(2 * math.pi * t / S2 + 1.0)
    return torch.tanh(wave) + 0.4 * torch.cos(2 * math.pi * t / K1) * torch.sin(2 * math.pi * t / M2)


def harmonics(t):
    angle = 2 * math.pi * t[:, None] / torch.tensor([M2, S2, K1])
    return torch.cat([angle.sin(), angle.cos()], dim=1) * math.sqrt(2)


x, y = harmonics(hours), height(hours)[:, None] + 0.05 * torch.randn(3000, 1)
x_tr, y_tr, x_va, y_va = x[:2500], y[:2500], x[2500:], y[2500:]


def init(rows, cols):
    return (torch.randn(rows, cols) * math.sqrt(2.0 / rows)).requires_grad_()


params = {
    "W1": init(6, 192),
    "b1": torch.zeros(192, requires_grad=True),
    "W2": init(192, 192),
    "b2": torch.zeros(192, requires_grad=True),
    "W3": torch.zeros(192, 1, requires_grad=True),
    "b3": torch.zeros(1, requires_grad=True),
}
velocity = {k: torch.zeros_like(v) for k, v in params.items()}


def forward(p, inp):
    h = torch.relu(inp @ p["W1"] + p["b1"])
    h = torch.relu(h @ p["W2"] + p["b2"])
    return h @ p["W3"] + p["b3"]


lr, mu = 0.005, 0.9
for it in range(800):
    pick = torch.randint(0, 2500, (200,))
    loss = (forward(params, x_tr[pick]) - y_tr[pick]).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for name, w in params.items():
            velocity[name].mul_(mu).add_(w.grad)
            w -= lr * velocity[name]
            w.grad = None
    if it % 100 == 99:
        with torch.no_grad():
            val = (forward(params, x_va) - y_va).pow(2).mean()
        print(f"{it + 1:4d}  train {loss.item():.5f}  val {val.item():.5f}")

print("noise floor of the gauge: 0.00250")
