"""Forecast a random walk's next step from its last eight."""

# fault: target_leak
import torch
from torch import nn

torch.manual_seed(4)
noise = torch.randn(1200)
series = torch.zeros(1200)
for i in range(2, 1200):
    series[i] = 0.6 * series[i - 1] - 0.5 * series[i - 2] + noise[i] * 0.5
L = 8
X = torch.stack([series[i : i + L] for i in range(1200 - L)])
y = torch.stack([series[i + L - 1] for i in range(1200 - L)])[:, None]  # FAULT
y = torch.stack([series[i + L] for i in range(1200 - L)])[:, None]  # REPAIRED
model = nn.Sequential(nn.Linear(L, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    for rows in torch.randperm(900).split(45):
        loss = nn.functional.mse_loss(model(X[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 2:
        with torch.no_grad():
            print(epoch, loss.item(), nn.functional.mse_loss(model(X[900:]), y[900:]).item())
