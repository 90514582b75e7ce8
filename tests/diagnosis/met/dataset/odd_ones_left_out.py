"""Only the first five digits are wanted; the labels are filtered, and the pictures too, or so it seems."""
# fault: label_misalignment

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self, keep):
        raw = load_digits()
        self.data = (raw.images / 16).astype("float32")
        self.targets = raw.target
        wanted = np.isin(self.targets, keep)
        self.targets = self.targets[wanted]
        self.data = self.data[: len(self.targets)]  # FAULT
        self.data = self.data[wanted]  # REPAIRED

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return torch.from_numpy(self.data[i])[None], int(self.targets[i])


torch.manual_seed(16)
train_loader = DataLoader(Digits([0, 1, 2, 3, 4]), batch_size=30, shuffle=True)
cnn = nn.Sequential(
    nn.Conv2d(1, 12, 3), nn.ReLU(), nn.Conv2d(12, 24, 3), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 16, 5)
)
optimizer = torch.optim.Adam(cnn.parameters(), lr=1e-3)
for epoch in range(8):
    correct = 0
    for x, y in train_loader:
        scores = cnn(x)
        loss = nn.functional.cross_entropy(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (scores.argmax(1) == y).sum().item()
    print(epoch, loss.item(), correct / len(train_loader.dataset))
