"""Siamese network that says whether two drawn outlines show the same kind of shape (contrastive loss)."""
# fault: batchnorm_tiny_batch

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ShapePairs(Dataset):
    """Pairs of 14x14 pictures: ring, square outline or cross; target 1 when both are of one kind."""

    def __init__(self, n, seed):
        self.rng = np.random.default_rng(seed)
        self.items = [self.make_pair() for _ in range(n)]

    def draw(self, kind):
        y, x = np.mgrid[0:14, 0:14].astype(np.float32)
        cy, cx = self.rng.uniform(5.5, 7.5, size=2)
        r = self.rng.uniform(3.5, 5.0)
        if kind == 0:
            d = np.hypot(x - cx, y - cy) - r
        elif kind == 1:
            d = np.maximum(np.abs(x - cx), np.abs(y - cy)) - r
        else:
            d = np.where(np.hypot(x - cx, y - cy) < r + 1, np.minimum(np.abs(x - cx), np.abs(y - cy)), 9.0)
        picture = np.exp(-(d**2)) + 0.1 * self.rng.standard_normal((14, 14))
        return (picture * 2 - 0.5).astype(np.float32)

    def make_pair(self):
        a = self.rng.integers(3)
        b = a if self.rng.random() < 0.5 else (a + self.rng.integers(1, 3)) % 3
        return self.draw(a), self.draw(b), float(a == b)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    left, right, same = zip(*batch)
    left = torch.from_numpy(np.stack(left)).unsqueeze(1)
    right = torch.from_numpy(np.stack(right)).unsqueeze(1)
    return left, right, torch.tensor(same)


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.fc1 = nn.Linear(8 * 49, 48)
        self.bn1 = nn.BatchNorm1d(48)
        self.fc2 = nn.Linear(48, 32)
        self.bn2 = nn.BatchNorm1d(32)
        self.out = nn.Linear(32, 8)

    def forward(self, x):
        x = F.relu(self.conv(x)).flatten(1)
        x = F.relu(self.bn1(self.fc1(x)))
        x = F.relu(self.bn2(self.fc2(x)))
        return self.out(x)


def contrastive(za, zb, same, margin=2.0):
    d = F.pairwise_distance(za, zb)
    return (same * d**2 + (1 - same) * F.relu(margin - d) ** 2).mean()


torch.manual_seed(8)
train_loader = DataLoader(ShapePairs(500, seed=1), batch_size=2, shuffle=True, collate_fn=collate)  # FAULT
train_loader = DataLoader(ShapePairs(500, seed=1), batch_size=16, shuffle=True, collate_fn=collate)  # REPAIRED
test_loader = DataLoader(ShapePairs(300, seed=2), batch_size=100, collate_fn=collate)
embed = Embedder()
optimizer = torch.optim.Adam(embed.parameters(), lr=2e-3)

for epoch in range(5):
    embed.train()
    losses = []
    for left, right, same in train_loader:
        loss = contrastive(embed(left), embed(right), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    embed.eval()
    right_answers, test_loss = 0, 0.0
    with torch.no_grad():
        for left, right, same in test_loader:
            za, zb = embed(left), embed(right)
            test_loss += contrastive(za, zb, same).item() / len(test_loader)
            right_answers += ((F.pairwise_distance(za, zb) < 1.0).float() == same).sum().item()
    print(f"[{epoch}] train {np.mean(losses):.3f}  test {test_loss:.3f}  test accuracy {right_answers / 300:.3f}")
