"""Classify synthetic heart beats (normal, ventricular, ST-elevated) with a small 1-D CNN."""
# fault: lr_too_high

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(7)
rng = np.random.default_rng(7)
LEN = 96


def bump(t, centre, width, height):
    return height * np.exp(-0.5 * ((t - centre) / width) ** 2)


def make_beat(kind):
    t = np.linspace(0, 1, LEN)
    shift = rng.normal(0, 0.02)
    qrs_width = 0.018 if kind != 1 else 0.055
    sig = bump(t, 0.25 + shift, 0.03, 0.2 if kind != 1 else 0.0)
    sig += bump(t, 0.45 + shift, qrs_width, rng.uniform(0.9, 1.3))
    sig -= bump(t, 0.50 + shift, qrs_width, rng.uniform(0.2, 0.4))
    sig += bump(t, 0.72 + shift, 0.06, 0.3 if kind != 1 else -0.3)
    if kind == 2:
        sig += bump(t, 0.60 + shift, 0.07, rng.uniform(0.2, 0.4))
    return sig + rng.normal(0, 0.25, LEN)


labels = rng.integers(0, 3, 1500)
beats = np.stack([make_beat(k) for k in labels]).astype(np.float32)
beats = (beats - beats.mean(axis=1, keepdims=True)) / beats.std(axis=1, keepdims=True)

full = TensorDataset(torch.from_numpy(beats)[:, None, :], torch.from_numpy(labels))
train_set, val_set = random_split(full, [1200, 300], generator=torch.Generator().manual_seed(1))
train_dl = DataLoader(train_set, batch_size=32, shuffle=True)
val_dl = DataLoader(val_set, batch_size=300)

net = nn.Sequential(
    nn.Conv1d(1, 12, 7, padding=3),
    nn.ReLU(),
    nn.MaxPool1d(3),
    nn.Conv1d(12, 24, 5, padding=2),
    nn.ReLU(),
    nn.AdaptiveAvgPool1d(4),
    nn.Flatten(),
    nn.Linear(96, 3),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=1.0, momentum=0.9)  # FAULT
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)  # REPAIRED

for epoch in range(10):
    net.train()
    running = 0.0
    for signal, kind in train_dl:
        optimizer.zero_grad()
        loss = criterion(net(signal), kind)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(kind)
    net.eval()
    with torch.no_grad():
        hits = sum((net(s).argmax(1) == k).sum().item() for s, k in val_dl)
    print(f"epoch {epoch + 1:2d}  train loss {running / len(train_set):.4f}  val acc {hits / len(val_set):.3f}")
