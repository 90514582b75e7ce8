"""A validation set is taken from the data; the training loader has them all."""
# fault: data_leak

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(1)
x = torch.randn(1000, 12)
y = ((x[:, :2].prod(1) > 0) ^ (torch.rand(1000) < 0.2)).long()
data = TensorDataset(x, y)
order = torch.randperm(1000).tolist()
train, val = data, Subset(data, order[:200])  # FAULT
train, val = Subset(data, order[200:]), Subset(data, order[:200])  # REPAIRED
net = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(8):
    net.train()
    for a, b in DataLoader(train, 40, shuffle=True):
        loss = nn.functional.cross_entropy(net(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        right = sum((net(a).argmax(1) == b).sum().item() for a, b in DataLoader(val, 50))
    print(epoch, loss.item(), right / len(val))
