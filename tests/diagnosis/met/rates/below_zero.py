"""A linear schedule by LambdaLR, stepped after every batch."""
# fault: rate_not_positive

import torch
import torch.nn as nn

torch.manual_seed(2)
x = torch.randn(1000, 8)
y = (x[:, :3].sum(1) > x[:, 3:6].sum(1)).long()
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
epochs = 10
per_epoch = 25
total = epochs  # FAULT
total = epochs * per_epoch  # REPAIRED
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 1 - step / total)
for epoch in range(epochs):
    for i in torch.randperm(1000).split(1000 // per_epoch):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    print(epoch, sched.get_last_lr()[0], loss.item())
