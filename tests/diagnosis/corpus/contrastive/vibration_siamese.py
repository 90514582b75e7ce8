"""Siamese network on machine vibrations: do two recordings come from the same kind of machine? Margin loss on pairs."""
# fault: frozen_params

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.utils.data import DataLoader

KINDS = 6
LENGTH = 64


def recording(kind, rng):
    t = np.arange(LENGTH)
    period = 6.0 + 1.1 * kind
    phase, phase2 = rng.uniform(0, 2 * np.pi, 2)
    wave = np.sin(2 * np.pi * t / period + phase) + 0.6 * np.sin(4 * np.pi * t / period + phase2)
    return (wave + 0.5 * rng.normal(size=LENGTH)).astype(np.float32)


def make_pairs(n, seed):
    rng = np.random.default_rng(seed)
    pairs = []
    for i in range(n):
        a = rng.integers(KINDS)
        b = a if i % 2 == 0 else (a + rng.integers(1, KINDS)) % KINDS
        pairs.append((recording(a, rng), recording(b, rng), np.float32(a == b)))
    return pairs


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv1d(1, 16, 9, padding=4),
            nn.BatchNorm1d(16),
            nn.LeakyReLU(0.1),
            nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 7, padding=3),
            nn.BatchNorm1d(32),
            nn.LeakyReLU(0.1),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
        )
        self.proj = nn.Linear(32, 8)

    def forward(self, a, b):
        za, zb = self.proj(self.backbone(a[:, None])), self.proj(self.backbone(b[:, None]))
        return (za - zb).pow(2).sum(1).add(1e-6).sqrt()


def contrastive_loss(dist, same, margin=1.5):
    pull = same * dist**2
    push = (1 - same) * torch.clamp(margin - dist, min=0) ** 2
    return (pull + push).mean()


def evaluate(net, loader):
    net.eval()
    with torch.no_grad():
        out = [(net(a, b), same) for a, b, same in loader]
    dist, same = (torch.cat(parts) for parts in zip(*out))
    return contrastive_loss(dist, same).item(), roc_auc_score(same.numpy(), -dist.numpy())


torch.manual_seed(9)
train_loader = DataLoader(make_pairs(1600, seed=1), batch_size=32, shuffle=True)
test_loader = DataLoader(make_pairs(400, seed=2), batch_size=200)

net = Siamese()
for p in net.backbone.parameters():  # FAULT
    p.requires_grad = False  # FAULT
trainable = [p for p in net.parameters() if p.requires_grad]
opt = torch.optim.SGD(trainable, lr=0.02, momentum=0.9)

for epoch in range(5):
    net.train()
    total = 0.0
    for a, b, same in train_loader:
        opt.zero_grad()
        loss = contrastive_loss(net(a, b), same)
        loss.backward()
        opt.step()
        total += loss.item()
    test_loss, auc = evaluate(net, test_loader)
    print(f"epoch {epoch}  train {total / len(train_loader):.4f}  test {test_loss:.4f}  AUC {auc:.3f}")
