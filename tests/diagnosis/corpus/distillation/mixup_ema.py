"""Mixup training on wine-like chemical profiles with an EMA copy of the net that is used for prediction."""
# fault: label_misalignment

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_blobs
from sklearn.utils import shuffle

torch.manual_seed(8)
np.random.seed(8)

# six cultivars, the rows come in the order of the lab days
X, y = make_blobs([300] * 6, n_features=13, cluster_std=3.2, center_box=(-5, 5), random_state=4)
X[:, 3] += 0.15 * X[:, 5] ** 2
X = shuffle(X, random_state=9)  # FAULT
X, y = shuffle(X, y, random_state=9)  # REPAIRED

split = int(0.75 * len(X))
mean, std = X[:split].mean(0), X[:split].std(0)
X = torch.as_tensor((X - mean) / std, dtype=torch.float32)
y = torch.as_tensor(y)
Xtr, ytr, Xte, yte = X[:split], y[:split], X[split:], y[split:]

net = nn.Sequential(nn.Linear(13, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
ema = copy.deepcopy(net)
for p in ema.parameters():
    p.requires_grad = False

optim = torch.optim.Adam(net.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=400)


def mixup(x, target, alpha=0.2):
    lam = np.random.beta(alpha, alpha)
    other = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[other], lam * target + (1 - lam) * target[other]


for it in range(400):
    rows = torch.randint(split, (50,))
    xb, tb = mixup(Xtr[rows], F.one_hot(ytr[rows], 6).float())
    loss = -(tb * net(xb).log_softmax(dim=1)).sum(dim=1).mean()
    optim.zero_grad()
    loss.backward()
    optim.step()
    sched.step()
    with torch.no_grad():
        for slow, fast in zip(ema.parameters(), net.parameters()):
            slow.lerp_(fast, 0.03)
    if it % 50 == 49:
        with torch.no_grad():
            plain = F.cross_entropy(net(Xtr), ytr).item()
            acc = (ema(Xte).argmax(1) == yte).float().mean().item()
        print(f"it {it + 1:3d} | mixup loss {loss.item():.3f} | train loss {plain:.3f} | test acc (ema) {acc:.3f}")
