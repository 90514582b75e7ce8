"""Predict the next value of a wavy time series with an LSTM."""
# fault: lr_too_low

import math

import numpy as np
import torch
from torch import nn, optim

np.random.seed(7)
torch.manual_seed(7)

t = np.arange(0, 700) * 0.1
series = np.sin(t) + 0.3 * np.sin(2.7 * t) + 0.03 * np.random.randn(len(t))

WINDOW = 20


def make_windows(data, window):
    xs, ys = [], []
    for i in range(len(data) - window):
        xs.append(data[i : i + window])
        ys.append(data[i + window])
    return torch.tensor(np.array(xs), dtype=torch.float32).unsqueeze(-1), torch.tensor(ys, dtype=torch.float32)


X_train, y_train = make_windows(series[:550], WINDOW)
X_test, y_test = make_windows(series[550:], WINDOW)


class SineLSTM(nn.Module):
    def __init__(self, hidden_size=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden_size, batch_first=True)
        self.fc = nn.Linear(hidden_size, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1]).squeeze(-1)


net = SineLSTM()
criterion = nn.MSELoss()
opt = optim.Adam(net.parameters(), lr=1e-6)  # FAULT
opt = optim.Adam(net.parameters(), lr=5e-3)  # REPAIRED

EPOCHS = 15
for epoch in range(EPOCHS):
    net.train()
    losses = []
    perm = torch.randperm(len(X_train))
    for chunk in perm.split(32):
        prediction = net(X_train[chunk])
        loss = criterion(prediction, y_train[chunk])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f"epoch {epoch + 1}: train mse = {np.mean(losses):.5f}")

net.eval()
with torch.no_grad():
    mse = criterion(net(X_test), y_test).item()
print(f"test mse = {mse:.5f}, rmse = {math.sqrt(mse):.4f}")
