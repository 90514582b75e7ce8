"""Multi-label tagging of synthetic scenes (which of five glyphs appear?), rendered on the fly by DataLoader workers."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

GLYPHS = [
    np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]]),
    np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]),
    np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]]),
    np.array([[1, 1, 1], [0, 1, 0], [0, 1, 0]]),
    np.array([[1, 0, 0], [1, 0, 0], [1, 1, 1]]),
]


class Scenes(Dataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng([self.seed, i])
        tags = rng.random(5) < 0.35
        canvas = 0.2 * rng.standard_normal((12, 12))
        cells = rng.permutation(9)
        for cell, k in zip(cells, np.flatnonzero(tags)):
            top, left = 4 * (cell // 3) + rng.integers(2), 4 * (cell % 3) + rng.integers(2)
            canvas[top : top + 3, left : left + 3] += GLYPHS[k] * rng.uniform(0.8, 1.2)
        return ((canvas - 0.1) / 0.4).astype(np.float32)[None], tags.astype(np.float32)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 1), nn.ReLU())
        self.out = nn.Linear(32, 5)

    def forward(self, x):
        return self.out(self.conv(x).amax(dim=(2, 3)))


def evaluate(model, loader):
    model.eval()
    tp = fp = fn = 0
    with torch.no_grad():
        for x, t in loader:
            guess = torch.sigmoid(model(x)) > 0.5
            tp += (guess & (t > 0)).sum().item()
            fp += (guess & (t == 0)).sum().item()
            fn += (~guess & (t > 0)).sum().item()
    return 2 * tp / max(2 * tp + fp + fn, 1)


def main():
    torch.manual_seed(4)
    train_loader = DataLoader(Scenes(2000, 0), batch_size=50, shuffle=True, num_workers=2, persistent_workers=True)
    val_loader = DataLoader(Scenes(400, 1), batch_size=200)
    model = Tagger()
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.full((5,), 1.5))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        model.train()
        losses = []
        for x, t in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), t)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {np.mean(losses):.4f}, micro F1 {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
