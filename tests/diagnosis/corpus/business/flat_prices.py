"""Prices of flats from size, age, floor and district: a wide linear part next to a deep one, log-cosh loss."""
# fault: weight_decay_too_strong

import math

import torch
from torch import nn

torch.manual_seed(9)
n = 2400
area = torch.empty(n).uniform_(25, 140)
age = torch.empty(n).uniform_(0, 90)
floor = torch.randint(0, 9, (n,)).float()
district = torch.randint(0, 15, (n,))
level = torch.linspace(-0.6, 0.6, 15)[torch.randperm(15)]
log_price = 0.95 * torch.log(area) + level[district] - 0.3 * torch.sin(age / 90 * math.pi) + 0.02 * floor
log_price = log_price + 0.06 * torch.randn(n)

numeric = torch.stack([torch.log(area), age, floor], dim=1)
fit, check = slice(0, 2000), slice(2000, n)
numeric = (numeric - numeric[fit].mean(0)) / numeric[fit].std(0)
target = (log_price - log_price[fit].mean()) / log_price[fit].std()


class WideAndDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(3, 1)
        self.area = nn.Embedding(15, 6)
        self.deep = nn.Sequential(nn.Linear(9, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU(), nn.Linear(20, 1))

    def forward(self, x, d):
        return (self.wide(x) + self.deep(torch.cat([x, self.area(d)], dim=1))).flatten()


def log_cosh(error):
    return (error + nn.functional.softplus(-2 * error) - math.log(2)).mean()


model = WideAndDeep()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.3)  # FAULT
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)  # REPAIRED

for epoch in range(1, 16):
    model.train()
    shuffled = torch.randperm(2000)
    losses = []
    for b in range(0, 2000, 100):
        rows = shuffled[b : b + 100]
        loss = log_cosh(model(numeric[rows], district[rows]) - target[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 3 == 0:
        model.eval()
        with torch.no_grad():
            guess = model(numeric[check], district[check])
            r2 = 1 - (guess - target[check]).pow(2).sum() / (target[check] - target[check].mean()).pow(2).sum()
        print(f"epoch {epoch:2d} loss {sum(losses) / len(losses):.4f} held-out R2 {r2.item():.3f}")
