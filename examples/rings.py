"""Tells three rings of points apart. It runs, the loss falls, and something is wrong with it."""

import torch
from torch import nn

torch.manual_seed(0)
ring = torch.randint(3, (1200,))
angle = 6.2832 * torch.rand(1200)
radius = 0.5 + ring + 0.15 * torch.randn(1200)
points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)

model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3), nn.Softmax(dim=1))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(10):
    for rows in torch.randperm(1000).split(50):
        optimizer.zero_grad()
        loss = criterion(model(points[rows]), ring[rows])
        loss.backward()
        optimizer.step()

with torch.no_grad():
    right = model(points[1000:]).argmax(dim=1) == ring[1000:]
print(f"loss {loss.item():.3f}, accuracy {right.float().mean().item():.2f}")
