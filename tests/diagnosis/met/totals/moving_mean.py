"""A moving mean of the loss is shown while a curve is learnt."""
# fault: graph_growth

import torch
import torch.nn as nn

torch.manual_seed(3)
x = torch.randn(800, 6)
y = x[:, :2].sum(1, keepdim=True).sin()
net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
mean = torch.zeros(())
for step in range(240):
    i = torch.randint(800, (32,))
    loss = nn.functional.mse_loss(net(x[i]), y[i])
    mean = 0.9 * mean + 0.1 * loss  # FAULT
    mean = 0.9 * mean + 0.1 * loss.detach()  # REPAIRED
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, mean.item())
