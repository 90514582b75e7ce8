"""Fraud is one in twelve; the weight of positives is the share of positives over that of negatives."""
# fault: class_imbalance

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(18)
n = 3000
fraud = (torch.rand(n) < 0.08).float()
x = torch.randn(n, 12)
x[:, :3] += 1.6 * fraud[:, None]
positives, negatives = fraud.sum(), n - fraud.sum()
pos_weight = positives / negatives  # FAULT
pos_weight = negatives / positives  # REPAIRED
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
train = DataLoader(TensorDataset(x[:2400], fraud[:2400]), batch_size=64, shuffle=True)
for epoch in range(10):
    model.train()
    for inputs, labels in train:
        loss = criterion(model(inputs).squeeze(1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        alarm = model(x[2400:]).squeeze(1) > 0
    caught = alarm[fraud[2400:] == 1].float().mean()
    right = (alarm == fraud[2400:].bool()).float().mean()
    print(f"{epoch} loss {loss:.3f} caught {caught:.2f} of frauds, accuracy {right:.3f}")
