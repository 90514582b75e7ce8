"""Predict concrete-like strength from a mixture."""

# fault: weight_decay_too_strong
import torch
from sklearn.datasets import make_friedman2
from torch import nn

torch.manual_seed(6)
X, y = make_friedman2(n_samples=900, noise=5.0, random_state=0)
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)[:, None]
X, y = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1.0)  # FAULT
opt = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-5)  # REPAIRED
for epoch in range(25):
    for i in torch.randperm(700).split(35):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(X[i]), y[i])
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            print(epoch + 1, loss.item(), nn.functional.mse_loss(net(X[700:]), y[700:]).item())
