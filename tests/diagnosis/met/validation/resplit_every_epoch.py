"""A fresh random split in every epoch."""
# fault: data_leak

import torch
import torch.nn as nn

torch.manual_seed(3)
x = torch.randn(600, 20)
y = ((x[:, 0] > 0) ^ (torch.rand(600) < 0.25)).long()
net = nn.Sequential(nn.Linear(20, 100), nn.ReLU(), nn.Linear(100, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
split = torch.randperm(600)
for epoch in range(15):
    split = torch.randperm(600)  # FAULT
    train, val = split[:480], split[480:]
    for i in train[torch.randperm(480)].split(32):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (net(x[val]).argmax(1) == y[val]).float().mean().item())
    net.train()
