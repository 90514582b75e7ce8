"""Darts with wind: where to aim, given how it blows. A Gaussian policy, clipped ratios, several epochs each round."""
# fault: ratio_always_one

import math

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(29)


def throw(wind, aim):
    miss = aim + 0.6 * wind + 0.3 * torch.sin(2 * wind.flip(1)) + 0.05 * torch.randn_like(aim)
    return 1 - miss.norm(dim=1)


class Thrower(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))
        self.log_std = nn.Parameter(torch.full((2,), math.log(0.5)))

    def forward(self, wind):
        return Normal(self.mean(wind), self.log_std.exp())


policy = Thrower()
baseline = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *baseline.parameters()], lr=2e-3)
for game in range(40):
    wind = torch.randn(256, 2)
    with torch.no_grad():
        dist = policy(wind)
        aim = dist.sample()
        old_log_prob = dist.log_prob(aim).sum(1)
    score = throw(wind, aim)
    for epoch in range(8):
        expected = baseline(wind).squeeze(1)
        advantage = (score - expected).detach()
        log_prob = policy(wind).log_prob(aim).sum(1)
        ratio = torch.exp(log_prob - log_prob.detach())  # FAULT
        ratio = torch.exp(log_prob - old_log_prob)  # REPAIRED
        clipped = torch.clamp(ratio, 0.8, 1.2)
        loss = -torch.min(ratio * advantage, clipped * advantage).mean() + (score - expected).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if game % 8 == 7:
        print(f"game {game + 1}: score {score.mean():.3f}, spread {policy.log_std.exp().mean():.3f}")
