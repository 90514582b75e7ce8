"""Digits; the loop asks the loader for its next batch."""

# fault: same_batch
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16).float(), torch.tensor(y)
loader = DataLoader(TensorDataset(X[:1400], y[:1400]), batch_size=32)
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
batches = iter(loader)
for iteration in range(300):
    x, t = next(iter(loader))  # FAULT
    try:  # REPAIRED
        x, t = next(batches)  # REPAIRED
    except StopIteration:  # REPAIRED
        batches = iter(loader)  # REPAIRED
        x, t = next(batches)  # REPAIRED
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), t)
    loss.backward()
    opt.step()
    if iteration % 50 == 49:
        with torch.no_grad():
            print(iteration + 1, loss.item(), (net(X[1400:]).argmax(1) == y[1400:]).float().mean().item())
