"""Rents in hundreds, by size, age and distance; the model ends as the classifier did that it was copied from."""
# fault: output_range

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
X = torch.rand(1000, 4)
rent = 4 + 9 * X[:, :1] - 3 * X[:, 1:2] + 2 * torch.sin(4 * X[:, 2:3]) + 0.3 * torch.randn(1000, 1)
train = DataLoader(TensorDataset(X[:800], rent[:800]), batch_size=32, shuffle=True)


class Rent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh())
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        return torch.sigmoid(self.head(self.body(x)))  # FAULT
        return self.head(self.body(x))  # REPAIRED


model = Rent()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(15):
    for x, y in train:
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(X[800:]) - rent[800:]).abs().mean().item())
