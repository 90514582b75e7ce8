"""Classifier of four interleaved spiral arms that works in log-probabilities."""
# fault: double_log

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(64)
K, PER_CLASS = 4, 400


def arms():
    xs, ys = [], []
    for k in range(K):
        r = torch.linspace(0.15, 1.0, PER_CLASS)
        theta = 3.0 * r + 2 * math.pi * k / K + 0.08 * torch.randn(PER_CLASS)
        xs.append(torch.stack([r * theta.sin(), r * theta.cos()], 1))
        ys.append(torch.full((PER_CLASS,), k))
    return 2 * torch.cat(xs), torch.cat(ys)


X, y = arms()
order = torch.randperm(len(X))
train_idx, val_idx = order[:1200], order[1200:]


class ArmNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(2, 64)
        self.hidden2 = nn.Linear(64, 64)
        self.output = nn.Linear(64, K)

    def forward(self, x):
        x = F.elu(self.hidden1(x))
        x = F.elu(self.hidden2(x))
        return F.log_softmax(self.output(x), dim=1)


f = ArmNet()
optimiser = torch.optim.Adam(f.parameters(), lr=4e-3)


def run_epoch():
    total = 0.0
    for chunk in train_idx[torch.randperm(len(train_idx))].split(40):
        optimiser.zero_grad()
        probs = f(X[chunk])
        loss = F.nll_loss(torch.log(probs.clamp(min=1e-8)), y[chunk])  # FAULT
        loss = F.nll_loss(probs, y[chunk])  # REPAIRED
        loss.backward()
        optimiser.step()
        total += loss.item() * len(chunk)
    return total / len(train_idx)


for epoch in range(25):
    f.train()
    mean_loss = run_epoch()
    if epoch % 4 == 0:
        f.eval()
        with torch.no_grad():
            hits = (f(X[val_idx]).argmax(dim=1) == y[val_idx]).sum().item()
        print("epoch", epoch, "loss", round(mean_loss, 4), "val acc", round(hits / len(val_idx), 3))
