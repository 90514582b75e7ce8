"""A network ported from a library that asks for the share to keep."""

# fault: dropout_too_strong
import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16).float(), torch.tensor(y)
KEEP = 0.9
P = KEEP  # FAULT
P = 1 - KEEP  # REPAIRED
net = nn.Sequential(
    nn.Linear(64, 40), nn.ReLU(), nn.Dropout(P), nn.Linear(40, 40), nn.ReLU(), nn.Dropout(P), nn.Linear(40, 10)
)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(10):
    net.train()
    for i in torch.randperm(1400).split(50):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(X[i]), y[i])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (net(X[1400:]).argmax(1) == y[1400:]).float().mean().item())
