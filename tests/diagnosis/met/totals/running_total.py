"""Digits with a small convolutional net; the mean loss is shown when all is over."""
# fault: graph_growth

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(1)
d = load_digits()
x, y = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16, torch.tensor(d.target)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 10))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
running_loss, count = 0.0, 0
for epoch in range(6):
    for i in torch.randperm(1600).split(40):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running_loss += loss  # FAULT
        running_loss += loss.item()  # REPAIRED
        count += 1
print("mean loss", float(running_loss) / count)
