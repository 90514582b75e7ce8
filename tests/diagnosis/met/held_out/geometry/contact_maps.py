"""Distances between predicted places of residues should be those that were measured."""
# fault: nan_loss

import torch
import torch.nn as nn

torch.manual_seed(42)
places = torch.cumsum(torch.randn(200, 12, 3) * 0.5, 1)
features = torch.cat([places, torch.randn(200, 12, 5)], -1)
true = torch.cdist(places, places)
net = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 3))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(20):
    for i in torch.randperm(200).split(20):
        p = net(features[i])
        squares = (p.unsqueeze(1) - p.unsqueeze(2)).pow(2).sum(-1)
        distances = squares.sqrt()  # FAULT
        distances = (squares + 1e-6).sqrt()  # REPAIRED
        loss = (distances - true[i]).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
