"""Moons with a rate that falls with the epochs."""
# fault: rate_not_positive

import torch
import torch.nn as nn
from sklearn.datasets import make_moons

torch.manual_seed(1)
x, y = make_moons(800, noise=0.15, random_state=1)
x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
epochs, base = 20, 0.01
for epoch in range(epochs):
    lr = base * ((epochs - 1 - epoch) // epochs)  # FAULT
    lr = base * (1 - epoch / epochs)  # REPAIRED
    opt = torch.optim.SGD(net.parameters(), lr=10 * lr)
    for i in torch.randperm(800).split(32):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, lr, loss.item())
