"""Two epochs of a deep plain net with a careful rate, as a first look at the data."""

import torch
import torch.nn as nn

torch.manual_seed(3)
x = torch.randn(2000, 30)
y = (x[:, :10].pow(2).sum(1) - x[:, 10:20].pow(2).sum(1) > 0).long()
layers = [nn.Linear(30, 64), nn.ReLU()]
for _ in range(3):
    layers += [nn.Linear(64, 64), nn.ReLU()]
net = nn.Sequential(*layers, nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for i in torch.randperm(2000).split(25):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
