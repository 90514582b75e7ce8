"""Directions from noisy coordinates; the loss is the angle between two unit vectors."""
# fault: nan_loss

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(41)
x = torch.randn(1000, 3)
y = F.normalize(x, dim=1)
net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(30):
    for i in torch.randperm(1000).split(50):
        cosine = (F.normalize(net(x[i]), dim=1) * y[i]).sum(1)
        loss = torch.acos(cosine).mean()  # FAULT
        loss = torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6)).mean()  # REPAIRED
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
