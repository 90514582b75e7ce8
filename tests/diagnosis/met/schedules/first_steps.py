"""A warm-up over the first steps."""

# fault: lr_too_low
import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16).float(), torch.tensor(y)
net = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
WARMUP = 100
schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, (step + 1) / WARMUP))
for epoch in range(10):
    for i in torch.randperm(1400).split(50):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(X[i]), y[i])
        loss.backward()
        opt.step()
        schedule.step(epoch // 4)  # FAULT
        schedule.step()  # REPAIRED
    with torch.no_grad():
        print(
            epoch, loss.item(), (net(X[1400:]).argmax(1) == y[1400:]).float().mean().item(), opt.param_groups[0]["lr"]
        )
