"""Forecast of the next hour's bike rentals from the last 24 hours with a small GRU."""
# fault: target_broadcast

import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(0)
torch.manual_seed(0)

# ---- series: daily and weekly rhythm, slow drift, noise
hours = np.arange(24 * 7 * 16)
daily = np.sin(2 * np.pi * (hours - 7) / 24) + 0.5 * np.sin(4 * np.pi * (hours - 2) / 24)
weekly = np.where((hours // 24) % 7 < 5, 1.0, 0.55)
weather = np.convolve(rng.normal(size=len(hours) + 47), np.ones(48) / 48**0.5, mode="valid") * 0.15
rentals = 180 + 110 * daily * weekly + 60 * weather + 8 * rng.normal(size=len(hours))

split = int(len(rentals) * 0.8)
mu, sd = rentals[:split].mean(), rentals[:split].std()
series = ((rentals - mu) / sd).astype(np.float32)


# ---- windows
def windows(s, width=24):
    xs = np.stack([s[i : i + width] for i in range(len(s) - width)])
    return torch.tensor(xs).unsqueeze(-1), torch.tensor(s[width:])


x_train, y_train = windows(series[:split])
x_test, y_test = windows(series[split:])


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out[:, -1])


net = Forecaster()
opt = torch.optim.Adam(net.parameters(), lr=8e-3)

# ---- training
batch = 64
for epoch in range(7):
    net.train()
    perm = torch.randperm(len(x_train))
    losses = []
    for i in range(0, len(perm), batch):
        xb, yb = x_train[perm[i : i + batch]], y_train[perm[i : i + batch]]
        pred = net(xb)  # FAULT
        pred = net(xb).squeeze(-1)  # REPAIRED
        loss = torch.mean((pred - yb) ** 2)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        forecast = net(x_test).numpy().ravel()
    mae = np.abs(forecast - y_test.numpy()).mean() * sd
    print(f"epoch {epoch}: train loss {np.mean(losses):.4f}, test MAE {mae:.1f} bikes/h")
