"""Cyclic rates down to zero and up again, with warm restarts; the last cycle is cut off."""

import torch
import torch.nn as nn

torch.manual_seed(6)
x = torch.randn(1000, 8)
y = (x[:, :4].pow(2).sum(1) > 4).long()
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=40, T_mult=2, eta_min=0.0)
for step in range(300):
    i = torch.randint(900, (50,))
    loss = nn.functional.cross_entropy(net(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 50 == 49:
        with torch.no_grad():
            print(step, loss.item(), (net(x[900:]).argmax(1) == y[900:]).float().mean().item())
