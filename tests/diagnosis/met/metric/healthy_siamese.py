"""Siamese net with a contrastive loss over pairs, after the classic tutorial."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(3)
d = load_digits()
x, y = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16, torch.tensor(d.target)


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 8))

    def forward(self, one, two):
        return self.cnn(one), self.cnn(two)


def contrastive(o1, o2, different, margin=1.5):
    distance = F.pairwise_distance(o1, o2)
    return ((1 - different) * distance**2 + different * (margin - distance).clamp(min=0) ** 2).mean()


net = SiameseNetwork()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(300):
    i, j = torch.randint(1500, (32,)), torch.randint(1500, (32,))
    same = torch.rand(32) < 0.5
    j = torch.where(same, torch.stack([torch.where(y[:1500] == y[k])[0][0] for k in i]), j)
    loss = contrastive(*net(x[i], x[j]), (y[i] != y[j]).float())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, loss.item())
