"""Which of two kinds of seed? The loss is sent back, and nothing more."""
# fault: never_updated

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)
X = torch.randn(800, 5)
y = (X[:, 0] * X[:, 1] > 0).float()
loader = DataLoader(TensorDataset(X, y), batch_size=40, shuffle=True)


class Seeds(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


model = Seeds()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(15):
    total = 0.0
    for a, b in loader:
        optimizer.zero_grad()
        loss = criterion(model(a), b)
        loss.backward()
        optimizer.step()  # REPAIRED
        total += loss.item()
    print(epoch, total / len(loader))
