"""Windows of an accelerometer, classified by a small convolutional net."""
# fault: data_leak

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(6)
g = torch.Generator().manual_seed(6)
state = torch.randint(3, (60,), generator=g).repeat_interleave(30)
phase = torch.cumsum(0.2 + 0.25 * state.float(), 0)
signal = torch.stack([phase.sin(), (2 * phase).cos()], 1) + 0.6 * torch.randn(1800, 2, generator=g)
length = 16


def windows(series, labels):
    starts = range(0, len(series) - length)
    return torch.stack([series[s : s + length].T for s in starts]), torch.stack([labels[s + length] for s in starts])


parts = [(signal, state)]  # FAULT
parts = [(signal[:1400], state[:1400]), (signal[1400:], state[1400:])]  # REPAIRED
sets = [TensorDataset(*windows(*part)) for part in parts]
sets = random_split(sets[0], [len(sets[0]) - 400, 400], torch.Generator().manual_seed(1))  # FAULT
train_set, test_set = sets
model = nn.Sequential(
    nn.Conv1d(2, 24, 5),
    nn.ReLU(),
    nn.MaxPool1d(2),
    nn.Conv1d(24, 32, 3),
    nn.ReLU(),
    nn.AdaptiveAvgPool1d(1),
    nn.Flatten(),
    nn.Linear(32, 3),
)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    model.train()
    for x, y in DataLoader(train_set, 64, shuffle=True):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in DataLoader(test_set, 100):
            right += (model(x).argmax(1) == y).sum().item()
    print(epoch, loss.item(), right / len(test_set))
