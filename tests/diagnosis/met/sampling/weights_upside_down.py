"""Rare faults of a machine; the sampler is given how often a class occurs, not one over it."""
# fault: class_imbalance

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(15)
X = torch.randn(3000, 6)
y = (X[:, 0] + X[:, 1] + 0.7 * torch.randn(3000) > 2.2).long()
counts = torch.bincount(y).float()
weights = counts[y]  # FAULT
weights = 1 / counts[y]  # REPAIRED
loader = DataLoader(TensorDataset(X, y), batch_size=60, sampler=WeightedRandomSampler(weights.tolist(), 3000))
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        found = model(X).argmax(1)
    print(epoch, loss.item(), (found[y == 1] == 1).float().mean().item())
