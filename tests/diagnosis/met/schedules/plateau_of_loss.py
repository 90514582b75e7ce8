"""A plateau schedule that was written for an accuracy is given the loss."""
# fault: lr_decayed_to_zero

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(3)
X = torch.rand(1000, 2) * 4 - 2
y = (torch.sin(3 * X[:, 0]) * X[:, 1]).unsqueeze(1)
net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
scheduler = ReduceLROnPlateau(optimizer, mode="max", factor=0.3, patience=1, min_lr=1e-12, eps=0)  # FAULT
scheduler = ReduceLROnPlateau(optimizer, mode="min", factor=0.3, patience=1, min_lr=1e-12, eps=0)  # REPAIRED
for epoch in range(60):
    total = 0.0
    for i in torch.randperm(800).split(80):
        loss = nn.functional.mse_loss(net(X[i]), y[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        held = nn.functional.mse_loss(net(X[800:]), y[800:]).item()
    scheduler.step(held)
    if epoch % 6 == 0:
        print(epoch, total / 10, held)
