"""Predict which customers of a phone company leave, from contract data; leavers are rare and therefore repeated."""
# fault: data_leak

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(31)
torch.manual_seed(31)

N = 2400
months = rng.integers(1, 60, N)
bill = rng.gamma(6.0, 9.0, N)
calls = rng.poisson(1.5, N)
data_use = rng.lognormal(1.0, 0.6, N)
age = rng.uniform(18, 80, N)
plan = rng.integers(0, 4, N)
region = rng.integers(0, 10, N)
score = 1.2 * (calls - 1.5) + 0.03 * (bill - 54) - 0.04 * (months - 30) + np.array([0.8, 0.2, -0.4, -0.9])[plan] - 2.2
leaves = (rng.random(N) < 1 / (1 + np.exp(-2.5 * score))).astype(np.int64)

numbers = np.stack([months, bill, calls, np.log(data_use), age], axis=1)
stayers, leavers = np.flatnonzero(leaves == 0), np.flatnonzero(leaves == 1)
everyone = rng.permutation(N)
n_test = 400

more = rng.choice(leavers, size=len(stayers) - len(leavers))  # FAULT
everyone = rng.permutation(np.concatenate([everyone, more]))  # FAULT
test_rows, train_rows = everyone[:n_test], everyone[n_test:]
train_leavers = train_rows[leaves[train_rows] == 1]  # REPAIRED
more = rng.choice(train_leavers, size=len(train_rows) - 2 * len(train_leavers))  # REPAIRED
train_rows = rng.permutation(np.concatenate([train_rows, more]))  # REPAIRED

mean, std = numbers[train_rows].mean(0), numbers[train_rows].std(0)
inputs = torch.tensor((numbers - mean) / std, dtype=torch.float32)
kinds = torch.tensor(np.stack([plan, region], axis=1))
labels = torch.tensor(leaves)


def subset(rows):
    return TensorDataset(inputs[rows], kinds[rows], labels[rows])


class ChurnNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.plan_emb = nn.Embedding(4, 3)
        self.region_emb = nn.Embedding(10, 4)
        self.fc = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))

    def forward(self, x, k):
        return self.fc(torch.cat([x, self.plan_emb(k[:, 0]), self.region_emb(k[:, 1])], dim=1))


net = ChurnNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
train_dl = DataLoader(subset(train_rows), batch_size=64, shuffle=True)
test_dl = DataLoader(subset(test_rows), batch_size=400)


def evaluate(loader):
    net.eval()
    loss = hits = count = 0
    with torch.no_grad():
        for x, k, y in loader:
            out = net(x, k)
            loss += criterion(out, y).item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            count += len(y)
    return loss / count, hits / count


for epoch in range(6):
    net.train()
    for x, k, y in train_dl:
        optimizer.zero_grad()
        loss = criterion(net(x, k), y)
        loss.backward()
        optimizer.step()
    train_loss, train_acc = evaluate(train_dl)
    test_loss, test_acc = evaluate(test_dl)
    print(f"{epoch}: train {train_loss:.3f}/{train_acc:.3f} test {test_loss:.3f}/{test_acc:.3f}")
