"""PointNet-like classifier that tells five kinds of 2-D outlines apart from clouds of noisy points."""

# fault: unshuffled_data
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
NAMES = ["circle", "square", "cross", "spiral", "triangle"]


def cloud(kind, n, points=48):
    t = torch.rand(n, points)
    if kind == "circle":
        x, y = torch.cos(2 * math.pi * t), torch.sin(2 * math.pi * t)
    elif kind == "square":
        side, u = (4 * t).long(), 2 * ((4 * t) % 1) - 1
        x = torch.where(side < 2, u, (side - 2.5).sign())
        y = torch.where(side < 2, (side - 0.5).sign(), u)
    elif kind == "cross":
        on = torch.rand(n, points) < 0.5
        x, y = torch.where(on, 2 * t - 1, t * 0), torch.where(on, t * 0, 2 * t - 1)
    elif kind == "spiral":
        x, y = t * torch.cos(9 * t), t * torch.sin(9 * t)
    else:
        side = (3 * t).long()
        corners = torch.tensor([[0.0, 1.0], [-0.9, -0.6], [0.9, -0.6]])
        u = ((3 * t) % 1).unsqueeze(-1)
        x, y = (corners[side] * u + corners[(side + 1) % 3] * (1 - u)).unbind(-1)
    xy = torch.stack([x, y], -1)
    angle = torch.rand(n, 1) * 0.8 - 0.4
    c, s = angle.cos(), angle.sin()
    xy = torch.stack([c * xy[..., 0] - s * xy[..., 1], s * xy[..., 0] + c * xy[..., 1]], -1)
    return xy + 0.07 * torch.randn_like(xy)


def build(n_per_class):
    X = torch.cat([cloud(name, n_per_class) for name in NAMES])
    y = torch.arange(len(NAMES)).repeat_interleave(n_per_class)
    return TensorDataset(X, y)


train_set, test_set = build(320), build(80)
train_loader = DataLoader(train_set, batch_size=16)  # FAULT
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)  # REPAIRED
test_loader = DataLoader(test_set, batch_size=100)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(2, 48), nn.ELU(), nn.Linear(48, 64), nn.ELU())
        self.cls = nn.Sequential(nn.Linear(128, 48), nn.ELU(), nn.Linear(48, len(NAMES)))

    def forward(self, pts):
        h = self.point(pts)
        return self.cls(torch.cat([h.amax(1), h.mean(1)], dim=1))


net = PointNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(7):
    net.train()
    total = 0.0
    for pts, label in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(pts), label)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(label)
    net.eval()
    with torch.no_grad():
        right = sum((net(pts).argmax(1) == label).sum().item() for pts, label in test_loader)
    print(f"[{epoch}] train loss {total / len(train_set):.3f}   test accuracy {right / len(test_set):.3f}")
