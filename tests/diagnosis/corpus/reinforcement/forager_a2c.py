"""Foragers look for the cell with most berries, which grow where nobody eats; actor and critic with one loss."""
# fault: dead_entropy

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(14)
FIELDS, CELLS, HORIZON, BONUS = 48, 5, 8, 0.02


class Forager(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(nn.Linear(CELLS, 64), nn.Tanh())
        self.legs, self.hope = nn.Linear(64, CELLS), nn.Linear(64, 1)

    def forward(self, berries):
        h = self.eyes(berries)
        return Categorical(logits=self.legs(h)), self.hope(h).squeeze(-1)


forager = Forager()
optimizer = torch.optim.Adam(forager.parameters(), lr=5e-3)
berries = torch.rand(FIELDS, CELLS)
for season in range(200):
    log_probs, entropies, values, eaten = [], [], [], []
    for _ in range(HORIZON):
        policy, value = forager(berries)
        cell = policy.sample()
        food = berries.gather(1, cell[:, None]).squeeze(1)
        berries = berries.scatter(1, cell[:, None], 0.0)
        berries = (berries + 0.2 * torch.rand(FIELDS, CELLS)).clamp(max=1.0)
        for store, item in zip(
            (log_probs, entropies, values, eaten), (policy.log_prob(cell), policy.entropy(), value, food)
        ):
            store.append(item)
    with torch.no_grad():
        future = forager(berries)[1]
    targets = []
    for food in reversed(eaten):
        future = food + 0.5 * future
        targets.insert(0, future)
    targets, values = torch.stack(targets), torch.stack(values)
    advantage = (targets - values).detach()
    loss = -(torch.stack(log_probs) * advantage).mean() + 0.5 * (targets - values).pow(2).mean()
    loss = loss + torch.stack(entropies).mean()  # FAULT
    loss = loss - BONUS * torch.stack(entropies).mean()  # REPAIRED
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if season % 40 == 39:
        print(f"season {season + 1}: {torch.stack(eaten).mean():.3f} berries a step")
