"""Hand-written letters; the labels were read from a picture file and scaled like one."""
# fault: constant_target

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(1)
d = load_digits()
x = torch.tensor(d.data, dtype=torch.float32) / 16
y = (torch.tensor(d.target) / 255).long()  # FAULT
y = torch.tensor(d.target).long()  # REPAIRED
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(8):
    for i in torch.randperm(1500).split(50):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (net(x[1500:]).argmax(1) == y[1500:]).float().mean().item())
