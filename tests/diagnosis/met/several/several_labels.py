"""Pictures have several tags each; they are trained with the loss for one class."""
# fault: several_labels

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)
x = torch.randn(1500, 24)
directions = torch.randn(24, 8)
tags = ((x @ directions) / 4.9 + 0.1 * torch.randn(1500, 8) > 0.3).float()
model = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 8))
criterion = nn.CrossEntropyLoss()  # FAULT
criterion = nn.BCEWithLogitsLoss()  # REPAIRED
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loader = DataLoader(TensorDataset(x[:1200], tags[:1200]), batch_size=40, shuffle=True)
for epoch in range(12):
    model.train()
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        guess = torch.sigmoid(model(x[1200:])) > 0.5
    print(epoch, loss.item(), "right tags", (guess == tags[1200:].bool()).float().mean().item())
