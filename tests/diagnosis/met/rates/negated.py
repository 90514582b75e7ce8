"""Regression of a curve; the sign of the loss is turned as in a log-likelihood."""
# fault: uphill_steps

import torch
import torch.nn as nn

torch.manual_seed(5)
x = torch.linspace(-3, 3, 500)[:, None]
y = x.sin() + 0.05 * torch.randn(500, 1)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(300):
    i = torch.randint(500, (50,))
    score = nn.functional.mse_loss(net(x[i]), y[i])
    loss = -score  # FAULT
    loss = 1.0 * score  # REPAIRED
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, score.item())
