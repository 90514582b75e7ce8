"""A table with one-hot parts, a level that never occurs here, and two columns that say the same; short and noisy."""

import torch
import torch.nn as nn

torch.manual_seed(1)
city = torch.randint(0, 9, (1000,))
kind = torch.randint(0, 3, (1000,))
size = torch.randn(1000, 2)
x = torch.cat(
    [nn.functional.one_hot(city, 14), nn.functional.one_hot(kind, 6), nn.functional.one_hot(kind, 3), size], 1
).float()
y = (0.3 * size[:, 0] + 0.5 * (kind == 1) + torch.randn(1000) > 0.3).float()
net = nn.Sequential(nn.Linear(25, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(8):
    net.train()
    for i in torch.randperm(800).split(40):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[i]).squeeze(1), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, loss.item(), ((net(x[800:]).squeeze(1) > 0).float() == y[800:]).float().mean().item())
