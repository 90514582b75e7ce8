"""Which pumps fail next week? Eight sensor readings per pump, two hidden layers, made-up fleet (notebook export)."""
# fault: class_imbalance

# %%
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(21)
rng = np.random.default_rng(21)

# %% the fleet
n = 14000
fails = rng.random(n) < 0.015
data = rng.normal(size=(n, 8))
shift = np.array([1.1, -0.9, 0.8, 0.9, 0, 0.7, 0, -0.6])
data = data + fails[:, None] * shift
data[:, 6] += 0.3 * data[:, 0] ** 2
data = (data - data[:11000].mean(0)) / data[:11000].std(0)
data = torch.tensor(data, dtype=torch.float32)
labels = torch.tensor(fails).long()
print("failures:", labels.sum().item(), "of", n)

# %%
train = TensorDataset(data[:11000], labels[:11000])
freq = torch.bincount(labels[:11000]).float()
sampler = WeightedRandomSampler((1 / freq)[labels[:11000]], num_samples=11000, replacement=True)
print("class frequencies", freq.tolist())
loader = DataLoader(train, batch_size=128, shuffle=True)  # FAULT
loader = DataLoader(train, batch_size=128, sampler=sampler)  # REPAIRED

# %%
model = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 12), nn.Tanh(), nn.Linear(12, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)

for epoch in range(6):
    total, seen = 0.0, 0
    for data_b, labels_b in loader:
        optimizer.zero_grad()
        loss = criterion(model(data_b), labels_b)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(data_b)
        seen += len(data_b)
    print(f"epoch {epoch}: loss {total / seen:.4f}")

# %%
model.eval()
with torch.no_grad():
    pred = model(data[11000:]).argmax(1)
labels = labels[11000:]
print(f"accuracy {(pred == labels).float().mean():.3f}")
for c in (0, 1):
    print(f"  recall of class {c}: {(pred[labels == c] == c).float().mean():.3f}")
