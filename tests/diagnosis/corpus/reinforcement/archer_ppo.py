"""An archer picks one of five holds by distance and light: clipped ratios, advantages over a learnt expectation."""
# fault: advantage_not_detached

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(33)


class Archer(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.hold, self.expect = nn.Linear(64, 5), nn.Linear(64, 1)

    def forward(self, x):
        h = self.look(x)
        return self.hold(h), self.expect(h)


def points(x, hold):
    best = (2 + x[:, 0] + torch.sin(2 * x[:, 1])).round().clamp(0, 4)
    return 1.5 - (best - hold).abs() + 0.1 * torch.randn(len(x))


archer = Archer()
opt = torch.optim.Adam(archer.parameters(), lr=1e-3)
for volley in range(60):
    x = torch.randn(128, 2)
    with torch.no_grad():
        pi = Categorical(logits=archer(x)[0])
        hold = pi.sample()
        before = pi.log_prob(hold)
    score = points(x, hold)
    for _ in range(4):
        logits, expected = archer(x)
        pi = Categorical(logits=logits)
        advantage = score - expected.squeeze(-1)
        ratio = torch.exp(pi.log_prob(hold) - before)
        weight = advantage  # FAULT
        weight = advantage.detach()  # REPAIRED
        clipped = torch.clamp(ratio, 0.8, 1.2)
        surrogate = torch.min(ratio * weight, clipped * weight)
        loss = -surrogate.mean() + 0.5 * (score - expected.squeeze(-1)).pow(2).mean() - 0.01 * pi.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if volley % 12 == 11:
        print(f"volley {volley + 1}: {score.mean():.3f} points a shot")
