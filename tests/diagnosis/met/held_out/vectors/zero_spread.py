"""A table is standardised; one of its columns never changes in this region."""
# fault: nan_loss

import torch
import torch.nn as nn

torch.manual_seed(13)
table = torch.randn(900, 6) * torch.tensor([3.0, 0.5, 8.0, 1.0, 2.0, 0.0]) + torch.tensor([1.0, 2, 30, 0, 5, 4])
price = 0.4 * table[:, 0] - 0.1 * table[:, 2] + torch.randn(900) * 0.2
table = (table - table.mean(0)) / table.std(0)  # FAULT
table = (table - table.mean(0)) / table.std(0).clamp(min=1e-6)  # REPAIRED
price = (price - price.mean()) / price.std()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    for i in torch.randperm(800).split(40):
        loss = (model(table[i]).squeeze(1) - price[i]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
