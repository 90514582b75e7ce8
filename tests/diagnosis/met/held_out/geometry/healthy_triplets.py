"""Triplets with a margin: the loss reaches exactly zero for many batches, and gradients vanish then."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)
centres = torch.randn(6, 8) * 3
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.TripletMarginLoss(margin=0.5)
for step in range(300):
    kind = torch.randint(6, (32,))
    other = (kind + torch.randint(1, 6, (32,))) % 6
    a, p, n = (centres[k] + 0.4 * torch.randn(32, 8) for k in (kind, kind, other))
    loss = criterion(*(F.normalize(net(t), dim=1) for t in (a, p, n)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, loss.item())
