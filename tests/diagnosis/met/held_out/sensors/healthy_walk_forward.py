"""Forecasts of a load curve: windows of one long tensor, the last fifth for testing, rows shared in memory."""

import torch
import torch.nn as nn

torch.manual_seed(19)
hours = torch.arange(1500, dtype=torch.float32)
load = torch.sin(hours * 6.283 / 24) + 0.3 * torch.sin(hours * 6.283 / 168) + 0.1 * torch.randn(1500)
frames = load.unfold(0, 25, 1)
x, y = frames[:, :24], frames[:, 24:]
cut = 1180
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(20):
    for i in torch.randperm(cut).split(64):
        loss = nn.functional.mse_loss(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        test = nn.functional.mse_loss(model(x[cut:]), y[cut:])
    if epoch % 5 == 4:
        print(epoch, loss.item(), test.item())
