"""Missing values become zero with a flag beside them; a sparse bag of words with most columns empty."""

import torch
import torch.nn as nn

torch.manual_seed(2)
words = (torch.rand(900, 60) < 0.02).float()
values = torch.randn(900, 6)
missing = torch.rand(900, 6) < torch.tensor([0.0, 0.0, 0.0, 0.1, 0.5, 0.9])
x = torch.cat([words, values.masked_fill(missing, 0.0), missing.float()], 1)
y = (values[:, 0] + words[:, :10].sum(1) + 0.8 * torch.randn(900) > 0.2).long()
net = nn.Sequential(nn.Linear(72, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    for i in torch.randperm(700).split(35):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (net(x[700:]).argmax(1) == y[700:]).float().mean().item())
