"""Advantage actor-critic for a walker that must find the bright cell of a ring; one loss for both heads."""
# fault: advantage_not_detached

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(2)
CELLS, WALKERS, STEPS, GAMMA = 12, 32, 12, 0.95


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(CELLS, 48), nn.Tanh())
        self.pi = nn.Linear(48, 3)
        self.v = nn.Linear(48, 1)

    def forward(self, x):
        h = self.body(x)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
eye = torch.eye(CELLS)
place = torch.randint(CELLS, (WALKERS,))
for update in range(300):
    logs, values, rewards, entropies = [], [], [], []
    for _ in range(STEPS):
        policy, value = net(eye[place])
        action = policy.sample()
        place = (place + action - 1) % CELLS
        logs.append(policy.log_prob(action))
        entropies.append(policy.entropy())
        values.append(value)
        rewards.append((place == 3).float())
    with torch.no_grad():
        g = net(eye[place])[1]
    returns = []
    for r in reversed(rewards):
        g = r + GAMMA * g
        returns.insert(0, g)
    advantage = torch.stack(returns) - torch.stack(values)
    actor = -(torch.stack(logs) * advantage).mean()  # FAULT
    actor = -(torch.stack(logs) * advantage.detach()).mean()  # REPAIRED
    loss = actor + 0.5 * advantage.pow(2).mean() - 0.01 * torch.stack(entropies).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if update % 60 == 59:
        print(f"update {update + 1}  reward a step {torch.stack(rewards).mean():.3f}")
