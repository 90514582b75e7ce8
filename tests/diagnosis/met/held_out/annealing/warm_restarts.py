"""Spirals with a multiplicative schedule that falls linearly over the epochs."""
# fault: rate_not_positive

import torch
import torch.nn as nn

torch.manual_seed(4)
g = torch.Generator().manual_seed(4)
t = torch.rand(900, generator=g) * 3
side = torch.randint(2, (900,), generator=g)
angle = 2.5 * t + 3.1416 * side
xy = torch.stack([t * angle.cos(), t * angle.sin()], 1) + 0.05 * torch.randn(900, 2, generator=g)

EPOCHS = 20
net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: (EPOCHS - epoch) // (EPOCHS + 1))  # FAULT
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: (EPOCHS - epoch) / (EPOCHS + 1))  # REPAIRED
for epoch in range(EPOCHS):
    for i in torch.randperm(900).split(45):
        loss = nn.functional.cross_entropy(net(xy[i]), side[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    print(epoch, loss.item())
