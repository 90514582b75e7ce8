"""Classify shapes (disc, square, cross, ring) in noisy 16x16 images; micro-batches of two with gradient accumulation,
because the real images do not fit into memory otherwise."""

# fault: batchnorm_tiny_batch
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

np.random.seed(11)
torch.manual_seed(11)
MICRO, ACCUM = 2, 8


def draw(kind):
    cy, cx = np.random.uniform(5, 11, 2)
    r = np.random.uniform(3, 5)
    yy, xx = np.mgrid[:16, :16]
    d = np.hypot(yy - cy, xx - cx)
    box = np.maximum(abs(yy - cy), abs(xx - cx))
    if kind == 0:
        im = d < r
    elif kind == 1:
        im = box < r
    elif kind == 2:
        im = (box < r) & ((abs(yy - cy) < 1) | (abs(xx - cx) < 1))
    else:
        im = abs(d - r) < 1
    return im - 0.2 + 0.2 * np.random.randn(16, 16)


def make(n):
    labels = np.random.randint(0, 4, n)
    images = np.stack([draw(k) for k in labels])[:, None]
    return torch.tensor(images, dtype=torch.float32), torch.tensor(labels)


class ShapeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 12, 5, stride=2, padding=2)
        self.c2 = nn.Conv2d(12, 24, 3, stride=2, padding=1)
        self.gn = nn.GroupNorm(4, 24)
        self.squeeze = nn.Conv2d(24, 48, 4)
        self.norm = nn.BatchNorm2d(48)  # FAULT
        self.norm = nn.GroupNorm(6, 48)  # REPAIRED
        self.head = nn.Linear(48, 4)

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.relu(self.gn(self.c2(x)))
        x = F.relu(self.norm(self.squeeze(x)))
        return self.head(x.flatten(1))


x_train, y_train = make(960)
x_val, y_val = make(300)
net = ShapeNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(4):
    net.train()
    perm = torch.randperm(len(x_train))
    epoch_loss = 0.0
    for k, start in enumerate(range(0, len(perm), MICRO)):
        pick = perm[start : start + MICRO]
        loss = F.cross_entropy(net(x_train[pick]), y_train[pick]) / ACCUM
        loss.backward()
        epoch_loss += loss.item() * ACCUM
        if (k + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()
    net.eval()
    with torch.no_grad():
        out = net(x_val)
    acc = (out.argmax(1) == y_val).float().mean()
    print(f"epoch {epoch}: train {epoch_loss / (k + 1):.3f}, val {F.cross_entropy(out, y_val):.3f}, val acc {acc:.3f}")
