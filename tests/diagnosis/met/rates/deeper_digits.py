"""Forest-cover like classes with a deeper network."""

# fault: lr_too_high
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)
loader = DataLoader(TensorDataset(X[:1400], y[:1400]), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)  # FAULT
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)  # REPAIRED
for epoch in range(8):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, loss.item(), "acc", (model(X[1400:]).argmax(1) == y[1400:]).float().mean().item())
