"""The next value of a price, from windows of the last thirty; every fifth window is kept for validation."""
# fault: data_leak

import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(2)
torch.manual_seed(2)
price = np.cumsum(rng.normal(size=1500)).astype(np.float32) * 0.1
rows = np.stack([price[i : i + 31] for i in range(len(price) - 31)])
rows = torch.from_numpy(rows)
order = torch.randperm(len(rows))  # FAULT
order = torch.arange(len(rows))  # REPAIRED
train, val = rows[order[:1150]], rows[order[1200:]]
model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(15):
    for i in torch.randperm(len(train)).split(50):
        loss = nn.functional.mse_loss(model(train[i, :30]), train[i, 30:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), nn.functional.mse_loss(model(val[:, :30]), val[:, 30:]).item())
