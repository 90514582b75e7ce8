"""A data set of signals whose __getitem__ loses its index."""
# fault: constant_feature

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(7)


class Signals(Dataset):
    def __init__(self, count):
        g = torch.Generator().manual_seed(count)
        self.label = torch.randint(3, (count,), generator=g)
        t = torch.arange(40) / 40
        self.signal = torch.sin(6.28 * t * (self.label[:, None] + 1) + torch.rand(count, 1, generator=g) * 6)
        self.signal = self.signal + 0.2 * torch.randn(count, 40, generator=g)
        self.cursor = 0

    def __len__(self):
        return len(self.label)

    def __getitem__(self, index):
        return self.signal[self.cursor], self.label[index]  # FAULT
        return self.signal[index], self.label[index]  # REPAIRED


train, test = DataLoader(Signals(1200), batch_size=40, shuffle=True), DataLoader(Signals(300), batch_size=100)
model = nn.Sequential(nn.Linear(40, 48), nn.ReLU(), nn.Linear(48, 3))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    for x, y in train:
        loss = loss_fn(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in test)
    print(epoch, loss.item(), right / 300)
