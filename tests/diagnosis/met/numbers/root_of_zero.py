"""Two views of one thing should lie close: the distance is a root of squares."""
# fault: nan_loss

import torch
import torch.nn as nn

torch.manual_seed(1)
x = torch.randn(600, 8).clamp(min=0)
x[::7] = 0
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(15):
    for i in torch.randperm(600).split(30):
        rebuilt = net(x[i])
        error = nn.functional.mse_loss(rebuilt, x[i])
        size = ((x[i] * rebuilt) ** 2).sum(1)
        norm = torch.sqrt(size).mean()  # FAULT
        norm = torch.sqrt(size + 1e-8).mean()  # REPAIRED
        loss = error + 0.01 * norm
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
