"""Fit a noisy function; the rate is lowered when the validation loss no longer gets better."""

# fault: lr_decayed_to_zero
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(9)
x = torch.rand(900, 3) * 2 - 1
y = torch.sin(4 * x[:, :1]) * x[:, 1:2] + x[:, 2:] ** 2 + 0.02 * torch.randn(900, 1)
net = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
scheduler = ReduceLROnPlateau(optimizer, mode="max", factor=0.1, patience=1)  # FAULT
scheduler = ReduceLROnPlateau(optimizer, mode="min", factor=0.1, patience=5)  # REPAIRED
criterion = nn.MSELoss()
for epoch in range(40):
    net.train()
    for i in torch.randperm(700).split(35):
        optimizer.zero_grad()
        loss = criterion(net(x[i]), y[i])
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        val = criterion(net(x[700:]), y[700:]).item()
    scheduler.step(val)
    if epoch % 8 == 7:
        print(epoch + 1, "val", round(val, 5), "lr", optimizer.param_groups[0]["lr"])
