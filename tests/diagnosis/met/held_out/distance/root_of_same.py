"""A siamese network by Euclidean distance; now and then a pair is made of the same row twice."""
# fault: nan_loss

import torch
import torch.nn as nn

torch.manual_seed(22)
group = torch.randint(6, (600,))
rows = torch.randn(6, 10)[group] + 0.5 * torch.randn(600, 10)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(300):
    i = torch.randint(600, (64,))
    j = torch.randint(600, (64,))
    if step % 40 == 39:
        j[0] = i[0]
    same = (group[i] == group[j]).float()
    d = (net(rows[i]) - net(rows[j])).pow(2).sum(1)
    d = d.sqrt()  # FAULT
    d = (d + 1e-8).sqrt()  # REPAIRED
    loss = (same * d.pow(2) + (1 - same) * (2 - d).clamp(min=0).pow(2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, loss.item())
