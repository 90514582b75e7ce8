"""A classifier with weights that are set by hand before the training."""

# fault: constant_init
import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16).float(), torch.tensor(y)
net = nn.Sequential(nn.Linear(64, 50), nn.Tanh(), nn.Linear(50, 50), nn.Tanh(), nn.Linear(50, 10))


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.constant_(m.weight, 0.01)  # FAULT
        nn.init.xavier_uniform_(m.weight)  # REPAIRED
        nn.init.zeros_(m.bias)


net.apply(init)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(12):
    for i in torch.randperm(1400).split(50):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(X[i]), y[i])
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (net(X[1400:]).argmax(1) == y[1400:]).float().mean().item())
