"""Small CNN that sorts drawn leaves (round, needle, heart, lobed, serrated) into five shapes."""

# fault: frozen_params
import numpy as np
import torch
import torch.nn as nn

SIZE = 20


def draw_leaf(kind, g):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    cy, cx = SIZE / 2 + g.uniform(-2, 2, 2)
    y, x = (yy - cy) / 8.0, (xx - cx) / 8.0
    turn = g.uniform(-np.pi, np.pi)
    x, y = np.cos(turn) * x - np.sin(turn) * y, np.sin(turn) * x + np.cos(turn) * y
    r, a = np.hypot(x, y), np.arctan2(y, x)
    k = g.uniform(0.8, 1.05)
    edge = [
        0.7 * k,
        k * 0.22 / np.sqrt(0.0484 * np.cos(a) ** 2 + np.sin(a) ** 2),
        k * (0.35 + 0.45 * np.abs(a) / np.pi),
        k * (0.62 + 0.28 * np.cos(3 * a)),
        k * (0.68 + 0.16 * np.sign(np.cos(6 * a))),
    ][kind]
    img = 1.0 / (1.0 + np.exp(-14 * (edge - r)))
    return img + g.normal(0, 0.12, img.shape)


def dataset(n, seed):
    g = np.random.default_rng(seed)
    labels = g.integers(0, 5, n)
    imgs = np.stack([draw_leaf(k, g) for k in labels])[:, None]
    return torch.tensor(imgs, dtype=torch.float32), torch.tensor(labels)


torch.manual_seed(1)
X_train, y_train = dataset(1500, seed=1)
X_test, y_test = dataset(400, seed=2)
mean, std = X_train.mean(), X_train.std()
X_train, X_test = (X_train - mean) / std, (X_test - mean) / std


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(24, 24, 3),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.classifier = nn.Linear(24, 5)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


model = LeafNet()
for p in model.features.parameters():  # FAULT
    p.requires_grad = False  # FAULT
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(10):
    model.train()
    order = torch.randperm(len(X_train))
    epoch_loss = 0.0
    for i in range(0, len(order), 50):
        sel = order[i : i + 50]
        optimizer.zero_grad()
        loss = criterion(model(X_train[sel]), y_train[sel])
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(sel)
    model.eval()
    with torch.no_grad():
        acc = (model(X_test).argmax(dim=1) == y_test).float().mean().item()
    print(f"Epoch [{epoch + 1}/10] loss: {epoch_loss / len(order):.4f} test acc: {100 * acc:.1f}%")
