"""Baseline of a loss: a running mean of losses is kept, and taken off the loss before it is sent back."""
# fault: graph_growth

import torch
import torch.nn as nn

torch.manual_seed(23)
X = torch.randn(1000, 5)
y = torch.sin(X[:, :1]) + X[:, 1:2]
model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
mean = torch.zeros(())
for step in range(120):
    i = torch.randint(1000, (50,))
    loss = nn.functional.mse_loss(model(X[i]), y[i])
    mean = 0.9 * mean + 0.1 * loss  # FAULT
    mean = 0.9 * mean + 0.1 * loss.item()  # REPAIRED
    opt.zero_grad()
    loss.backward(retain_graph=True)  # FAULT
    loss.backward()  # REPAIRED
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), float(mean))
