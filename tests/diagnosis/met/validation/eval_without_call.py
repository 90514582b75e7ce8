"""Coins by their ring: the switch to evaluation is named, not called."""
# fault: eval_in_train_mode

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
kind = torch.randint(5, (1500,))
pitch = (kind + 2).float()[:, None] * torch.linspace(0, 6, 64)
sound = torch.sin(pitch + torch.rand(1500, 1) * 6.28) + 1.2 * torch.randn(1500, 64)
train_set, test_set = TensorDataset(sound[:1200, None], kind[:1200]), TensorDataset(sound[1200:, None], kind[1200:])
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
test_loader = DataLoader(test_set, batch_size=4)
model = nn.Sequential(
    nn.Conv1d(1, 16, 9),
    nn.BatchNorm1d(16),
    nn.ReLU(),
    nn.MaxPool1d(4),
    nn.Dropout(0.3),
    nn.Conv1d(16, 16, 5),
    nn.BatchNorm1d(16),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(160, 5),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()


def train():
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def test():
    model.eval  # FAULT
    model.eval()  # REPAIRED
    hits = 0
    with torch.no_grad():
        for x, y in test_loader:
            hits += (model(x).argmax(1) == y).sum().item()
    return hits / len(test_set)


for epoch in range(8):
    print(epoch, train(), test())
