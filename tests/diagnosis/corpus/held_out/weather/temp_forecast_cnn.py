"""Forecast the temperature six hours ahead from two days of hourly readings with a small 1-D CNN."""

# fault: lr_too_high
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(11)
torch.manual_seed(11)

# one year and a bit of a made-up station
hours = np.arange(24 * 400)
season = -9.0 * np.cos(2 * np.pi * hours / (24 * 365))
day = 5.0 * np.sin(2 * np.pi * (hours - 8) / 24)
front = np.zeros(len(hours))
for t in range(1, len(hours)):
    front[t] = 0.985 * front[t - 1] + rng.normal(0, 0.35)
temp = 10.0 + season + day + front
pressure = 1013.0 - 2.5 * front + rng.normal(0, 0.8, len(hours))

WINDOW, AHEAD = 48, 6
WEEK = 24 * 7
starts = np.arange(0, len(hours) - WINDOW - AHEAD, 2)
last = starts + WINDOW + AHEAD - 1
starts = starts[starts // WEEK == last // WEEK]  # no window reaches into the next week
raw = np.stack([temp, pressure])
X = np.stack([raw[:, s : s + WINDOW] for s in starts])
y = np.array([temp[s + WINDOW + AHEAD - 1] for s in starts])

# every fifth week is kept for testing
held = starts // WEEK % 5 == 2
tr, te = np.where(~held)[0], np.where(held)[0]
mu, sd = X[tr].mean(axis=(0, 2), keepdims=True), X[tr].std(axis=(0, 2), keepdims=True)
X = (X - mu) / sd
y_mu, y_sd = y[tr].mean(), y[tr].std()
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor((y - y_mu) / y_sd, dtype=torch.float32)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(2, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 16, 5, padding=2), nn.ReLU()
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(16 * 24, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.head(self.conv(x)).squeeze(1)


net = Forecaster()
loader = DataLoader(TensorDataset(X[tr], y[tr]), batch_size=64, shuffle=True)
optimizer = torch.optim.Adam(net.parameters(), lr=0.3)  # FAULT
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)  # REPAIRED
loss_fn = nn.MSELoss()

for epoch in range(10):
    net.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(net(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    net.eval()
    with torch.no_grad():
        rmse = ((net(X[te]) - y[te]) ** 2).mean().sqrt().item() * y_sd
    print(f"epoch {epoch + 1:2d}  train mse {total / len(tr):.4f}  test rmse {rmse:.2f} deg C")
