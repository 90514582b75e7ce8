"""Yield of fields with a log-cosh loss, data from a loader."""
# fault: target_broadcast

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
g = torch.Generator().manual_seed(2)
soil = torch.randn(1200, 8, generator=g)
tons = (soil[:, :3].sum(1, keepdim=True) + 0.2 * torch.randn(1200, 1, generator=g)).sin() * 2
loader = DataLoader(TensorDataset(soil, tons), batch_size=50, shuffle=True)


class YieldNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.body(x)).flatten()  # FAULT
        return self.out(self.body(x))  # REPAIRED


def log_cosh(error):
    return (error + nn.functional.softplus(-2.0 * error) - 0.6931).mean()


model = YieldNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(15):
    for x, y in loader:
        optimizer.zero_grad()
        loss = log_cosh(model(x) - y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
