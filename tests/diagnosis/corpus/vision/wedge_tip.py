"""Find the tip of a wedge drawn in a small picture (keypoint regression with a convolutional network)."""
# fault: missing_activation

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(3)
torch.manual_seed(3)

S = 20
yy, xx = np.mgrid[0:S, 0:S].astype(np.float32)


def draw_wedge():
    tip = rng.uniform(5, 14, size=2)
    angle = rng.uniform(-0.8, 0.8)
    length, slope = rng.uniform(5, 8), rng.uniform(0.4, 0.7)
    along = (xx - tip[0]) * np.cos(angle) + (yy - tip[1]) * np.sin(angle)
    across = -(xx - tip[0]) * np.sin(angle) + (yy - tip[1]) * np.cos(angle)
    inside = (along > 0) & (along < length) & (np.abs(across) < slope * along + 0.5)
    ink = 1.0 if rng.random() < 0.5 else -1.0  # light on dark, or dark on light
    picture = ink * inside + 0.05 * rng.standard_normal((S, S))
    return picture.astype(np.float32), ((tip - 9.5) / 4.5).astype(np.float32)


pictures, tips = zip(*[draw_wedge() for _ in range(2900)])
X = torch.from_numpy(np.stack(pictures)).unsqueeze(1)
Y = torch.from_numpy(np.stack(tips))
X_train, Y_train, X_val, Y_val = X[:2500], Y[:2500], X[2500:], Y[2500:]

net = nn.Sequential(
    nn.Conv2d(1, 12, 5, stride=2, padding=2),
    nn.ReLU(),  # REPAIRED
    nn.Conv2d(12, 24, 3, stride=2, padding=1),
    nn.ReLU(),  # REPAIRED
    nn.Flatten(),
    nn.Linear(24 * 5 * 5, 64),
    nn.ReLU(),  # REPAIRED
    nn.Linear(64, 2),
)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
criterion = nn.MSELoss()

for epoch in range(8):
    net.train()
    order = torch.randperm(len(X_train))
    total = 0.0
    for i in range(0, len(order), 50):
        idx = order[i : i + 50]
        optimizer.zero_grad()
        loss = criterion(net(X_train[idx]), Y_train[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        error = (net(X_val) - Y_val).mul(4.5).norm(dim=1).mean()
    print(f"epoch {epoch + 1:2d}  mse {total / len(X_train):.4f}  tip error {error:.2f} px")
