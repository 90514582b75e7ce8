"""Transfer learning: a CNN learns the digits 0-4, then its frozen features serve a new head for the digits 5-9."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(21)
source = load_digits()
pics = (torch.tensor(source.images, dtype=torch.float32).unsqueeze(1) - 4.884) / 6.017
marks = torch.tensor(source.target)


def subset(keep, shift):
    idx = torch.nonzero(keep).squeeze(1)
    idx = idx[torch.randperm(len(idx))]
    cut = int(0.75 * len(idx))
    return pics[idx[:cut]], marks[idx[:cut]] - shift, pics[idx[cut:]], marks[idx[cut:]] - shift


features = nn.Sequential(
    nn.Conv2d(1, 24, 3, padding=1),
    nn.BatchNorm2d(24),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(24, 48, 3, padding=1),
    nn.BatchNorm2d(48),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(2),
    nn.Flatten(),
)
old_head, new_head = nn.Linear(192, 5), nn.Linear(192, 5)

# stage 1: everything trains on the lower digits
x, y, xt, yt = subset(marks < 5, 0)
opt = torch.optim.Adam([*features.parameters(), *old_head.parameters()], lr=2e-3)
for epoch in range(5):
    features.train()
    for b in torch.randperm(len(x)).split(32):
        loss = F.cross_entropy(old_head(features(x[b])), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    features.eval()
    with torch.no_grad():
        acc = (old_head(features(xt)).argmax(1) == yt).float().mean()
    print(f"pretrain {epoch}: loss {loss.item():.3f} acc {acc:.3f}")

# stage 2: only the new head trains; the features (and their batch statistics) stay as they are
for p in features.parameters():
    p.requires_grad = False
features.eval()
x, y, xt, yt = subset(marks >= 5, 5)
opt = torch.optim.SGD(new_head.parameters(), lr=0.05, momentum=0.9)
for epoch in range(10):
    running = 0.0
    for b in torch.randperm(len(x)).split(32):
        loss = F.cross_entropy(new_head(features(x[b])), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() * len(b)
    with torch.no_grad():
        acc = (new_head(features(xt)).argmax(1) == yt).float().mean()
    print(f"transfer {epoch}: loss {running / len(x):.3f} acc {acc:.3f}")
