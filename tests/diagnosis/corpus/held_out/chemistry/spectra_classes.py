"""1-D convolutional classifier that tells eight functional groups apart from noisy infrared-like spectra."""
# fault: softmax_before_ce

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Spectra(Dataset):
    """Every group has three characteristic bands; position, height and baseline vary from sample to sample."""

    def __init__(self, size, seed):
        bands = np.random.RandomState(100).uniform(8, 88, (8, 3))
        r = np.random.RandomState(seed)
        self.label = torch.from_numpy(r.randint(0, 8, size))
        centres = bands[self.label.numpy()] + r.normal(0, 1.5, (size, 3))
        height = r.uniform(0.4, 1.2, (size, 3))
        grid = np.arange(96)
        curve = (height[..., None] * np.exp(-((grid - centres[..., None]) ** 2) / 18.0)).sum(1)
        curve += r.uniform(-0.3, 0.3, (size, 1)) * grid / 96 + 0.2 * r.randn(size, 96)
        curve = (curve - curve.mean(1, keepdims=True)) / curve.std(1, keepdims=True)
        self.curve = torch.from_numpy(curve).float().unsqueeze(1)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.curve[i], self.label[i]


class SpectraNet(nn.Module):
    def __init__(self, n_classes=8):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 8, 7, padding=3)
        self.conv2 = nn.Conv1d(8, 16, 5, padding=2)
        self.pool = nn.MaxPool1d(3)
        self.fc = nn.Linear(16 * 10, n_classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = self.fc(x.flatten(1))
        return torch.softmax(x, dim=1)  # FAULT
        return x  # REPAIRED


torch.manual_seed(0)
train_dl = DataLoader(Spectra(1500, seed=1), batch_size=50, shuffle=True)
test_dl = DataLoader(Spectra(400, seed=2), batch_size=200)

net = SpectraNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)

for epoch in range(6):
    net.train()
    running_loss = 0.0
    for inputs, labels in train_dl:
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    net.eval()
    correct = 0
    with torch.no_grad():
        for inputs, labels in test_dl:
            correct += (net(inputs).argmax(1) == labels).sum().item()
    print("[%d] loss: %.3f  test acc: %.1f%%" % (epoch + 1, running_loss / len(train_dl), correct / 4))
print("Finished Training")
