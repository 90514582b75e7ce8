"""A classifier trained with an optimiser that was set up for rewards."""
# fault: uphill_steps

import torch
import torch.nn as nn

torch.manual_seed(4)
x = torch.randn(900, 6)
y = (x[:, 0] > x[:, 1]).long()
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
settings = {"lr": 1e-3, "maximize": True}  # FAULT
settings = {"lr": 1e-3}  # REPAIRED
opt = torch.optim.Adam(net.parameters(), **settings)
for epoch in range(10):
    for i in torch.randperm(900).split(45):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
