"""Columns are standardised inside the model, batch by batch."""
# fault: nan_loss

import torch
import torch.nn as nn

torch.manual_seed(4)
x = torch.randn(800, 6)
x[:, 4] = (torch.rand(800) < 0.04).float()
y = x[:, :2].sum(1, keepdim=True).sin()


class Standard(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, t):
        t = (t - t.mean(0)) / t.std(0)  # FAULT
        t = (t - t.mean(0)) / (t.std(0) + 1e-3)  # REPAIRED
        return self.net(t)


net = Standard()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(12):
    for i in torch.randperm(800).split(32):
        loss = nn.functional.mse_loss(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
