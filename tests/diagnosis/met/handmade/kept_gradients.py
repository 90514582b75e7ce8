"""A module with its parameters moved in a loop over parameters()."""
# fault: missing_zero_grad

import torch
import torch.nn as nn

torch.manual_seed(3)
x = torch.randn(500, 5)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
for step in range(200):
    i = torch.randint(500, (32,))
    loss = nn.functional.mse_loss(net(x[i]), y[i])
    net.zero_grad()  # REPAIRED
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.02 * p.grad
    if step % 40 == 0:
        print(step, loss.item())
