"""Segmentation of discs: pictures and masks go through one scaling function."""
# fault: target_scale

import torch
import torch.nn as nn

torch.manual_seed(2)
g = torch.Generator().manual_seed(2)
grid = torch.stack(torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij"))
centre = torch.rand(300, 2, 1, 1, generator=g) * 10 + 3
inside = ((grid - centre).pow(2).sum(1, keepdim=True) < 9).float()
pictures = 255 * (0.2 + 0.5 * inside + 0.1 * torch.rand(300, 1, 16, 16, generator=g))


def scale(t):
    return t / 255


x = scale(pictures)
y = scale(inside)  # FAULT
y = inside  # REPAIRED
net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(12):
    for i in torch.randperm(300).split(20):
        loss = criterion(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
