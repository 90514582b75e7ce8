"""Hardly anything can be predicted here, and the net is small: daily returns from the days before."""

import torch
import torch.nn as nn

torch.manual_seed(3)
r = torch.randn(1400)
for t in range(1, 1400):
    r[t] += 0.25 * r[t - 1]
rows = r.unfold(0, 6, 1)
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(6):
    for i in torch.randperm(1100).split(50):
        loss = nn.functional.mse_loss(net(rows[i, :5]), rows[i, 5:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), nn.functional.mse_loss(net(rows[1150:, :5]), rows[1150:, 5:]).item())
