"""A regression whose rate is lowered by hand after every batch, counted in batches."""
# fault: rate_not_positive

import torch
from torch import nn

torch.manual_seed(14)
x = torch.randn(1600, 5)
y = torch.tanh(x @ torch.randn(5, 3)) + 0.1 * torch.randn(1600, 3)
model = nn.Sequential(nn.Linear(5, 40), nn.Tanh(), nn.Linear(40, 3))
base, epochs, batches = 0.1, 12, 40
total_steps = epochs * 16  # FAULT
total_steps = epochs * batches  # REPAIRED
optimizer = torch.optim.SGD(model.parameters(), lr=base, momentum=0.9)
step = 0
for epoch in range(epochs):
    for i in torch.randperm(1600).split(1600 // batches):
        optimizer.param_groups[0]["lr"] = base * (1 - step / total_steps)
        loss = nn.functional.mse_loss(model(x[i]), y[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    print(epoch, loss.item())
