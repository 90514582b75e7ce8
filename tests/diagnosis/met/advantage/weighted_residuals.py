"""Squared errors weighed by how sure each measurement is."""
# fault: target_broadcast

import torch
import torch.nn as nn

torch.manual_seed(4)
x = torch.randn(1000, 4)
sigma = 0.1 + torch.rand(1000)
y = (x[:, :1] * x[:, 1:2]).tanh() + sigma[:, None] * torch.randn(1000, 1) * 0.3

net = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(15):
    for i in torch.randperm(1000).split(40):
        residual = net(x[i]) - y[i].squeeze(1)  # FAULT
        residual = net(x[i]) - y[i]  # REPAIRED
        loss = (residual**2 / sigma[i][:, None]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
