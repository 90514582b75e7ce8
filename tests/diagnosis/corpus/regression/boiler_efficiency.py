"""Boiler efficiency from process readings (pressure in Pa, temperature in K, flow in kg/s, valve in 0..1, ...)."""
# fault: unnormalized_input

import torch
import torch.nn.functional as F
from torch import nn


def readings(n, gen):
    u = torch.rand(n, 6, generator=gen)
    pressure = 1.0e5 + 9.0e5 * u[:, 0]
    temperature = 330 + 120 * u[:, 1]
    flow = 0.02 + 0.08 * u[:, 2]
    valve = u[:, 3]
    calorific = 3.6e7 + 1.0e7 * u[:, 4]
    soot = 1e-4 * u[:, 5]
    eff = (
        0.5 + 0.3 * u[:, 1] * (1 - u[:, 2]) + 0.25 * torch.sin(3.0 * valve) - 0.3 * u[:, 5] ** 2 + 0.1 * u[:, 0] * valve
    )
    eff = eff + 0.05 * u[:, 4] + 0.01 * torch.randn(n, generator=gen)
    return torch.stack([pressure, temperature, flow, valve, calorific, soot], dim=1), eff


def fit(model, x, y, steps, batch_size, gen):
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
    losses = []
    for step in range(steps):
        rows = torch.randint(len(x), (batch_size,), generator=gen)
        out = model(x[rows]).flatten()
        loss = F.mse_loss(out, y[rows])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
        if (step + 1) % 100 == 0:
            print(f"{step + 1:>4}: mse {sum(losses[-100:]) / 100:.4g}")
    return losses


gen = torch.Generator().manual_seed(17)
torch.manual_seed(17)
x_train, eff_train = readings(4000, gen)
x_test, eff_test = readings(800, gen)

shift, scale = x_train.mean(0), x_train.std(0)  # REPAIRED
x_train, x_test = (x_train - shift) / scale, (x_test - shift) / scale  # REPAIRED
y_shift, y_scale = eff_train.mean(), eff_train.std()
y_train = (eff_train - y_shift) / y_scale

net = nn.Sequential(nn.Linear(6, 160), nn.SiLU(), nn.Linear(160, 160), nn.SiLU(), nn.Linear(160, 1))
fit(net, x_train, y_train, steps=600, batch_size=128, gen=gen)

net.eval()
with torch.no_grad():
    estimate = net(x_test).flatten() * y_scale + y_shift
error = (estimate - eff_test).abs().mean().item()
baseline = (eff_test - y_shift).abs().mean().item()
print(f"mean absolute error {100 * error:.2f} % (always the mean: {100 * baseline:.2f} %)")
