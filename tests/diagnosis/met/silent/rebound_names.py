"""Descent by hand: the loop over the parameters gives a new value to a name."""
# fault: never_updated

import torch
import torch.nn as nn

torch.manual_seed(16)
x = torch.rand(400, 1) * 6 - 3
y = torch.sin(x) + 0.05 * torch.randn(400, 1)
model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 1))
for step in range(400):
    i = torch.randint(400, (64,))
    loss = (model(x[i]) - y[i]).square().mean()
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            p = p - 0.1 * p.grad  # FAULT
            p -= 0.1 * p.grad  # REPAIRED
    if step % 50 == 0:
        print(step, loss.item())
