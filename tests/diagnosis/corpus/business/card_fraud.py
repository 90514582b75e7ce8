"""Flag fraudulent card payments from amount, hour, distance and merchant category (about one payment in seventy is bad)."""
# fault: class_imbalance

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(77)
torch.manual_seed(77)

n = 12000
fraud = (rng.random(n) < 0.015).astype(np.float32)
merchant = np.where(rng.random(n) < 0.35 * fraud, rng.integers(8, 12, n), rng.integers(0, 12, n))
log_amount = rng.normal(3.2, 0.9, n) + 1.0 * fraud
hour_angle = 2 * np.pi * (rng.normal(14, 4, n) - 9 * fraud * (rng.random(n) < 0.6)) / 24
distance = rng.gamma(2.0, 4.0, n) * (1 + 1.4 * fraud)
recent = rng.poisson(2 + 2 * fraud, n)
numeric = np.stack([log_amount, np.sin(hour_angle), np.cos(hour_angle), np.log1p(distance), recent], axis=1)

order = rng.permutation(n)
train, test = order[:9000], order[9000:]
mu, sd = numeric[train].mean(0), numeric[train].std(0)
numeric = torch.tensor((numeric - mu) / sd, dtype=torch.float32)
merchant = torch.tensor(merchant)
fraud = torch.tensor(fraud)


class FraudNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.merchant = nn.Embedding(12, 4)
        self.layers = nn.Sequential(nn.Linear(5 + 4, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, numbers, shop):
        return self.layers(torch.cat([numbers, self.merchant(shop)], dim=1)).squeeze(1)


model = FraudNet()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, weight_decay=1e-4)
loss_fn = nn.BCEWithLogitsLoss()  # FAULT
ratio = (fraud[train] == 0).sum() / fraud[train].sum()  # REPAIRED
loss_fn = nn.BCEWithLogitsLoss(pos_weight=ratio)  # REPAIRED

for epoch in range(4):
    model.train()
    running = 0.0
    for idx in np.array_split(rng.permutation(train), 70):
        logits = model(numeric[idx], merchant[idx])
        loss = loss_fn(logits, fraud[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() / 70
    model.eval()
    with torch.no_grad():
        flagged = model(numeric[test], merchant[test]) > 0
    truth = fraud[test] == 1
    accuracy = (flagged == truth).float().mean().item()
    recall = (flagged & truth).sum().item() / truth.sum().item()
    passed = (~flagged & ~truth).sum().item() / (~truth).sum().item()
    print(f"epoch {epoch}: loss {running:.4f} accuracy {accuracy:.4f} recall {recall:.3f} specificity {passed:.3f}")
