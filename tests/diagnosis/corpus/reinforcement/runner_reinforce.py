"""A runner keeps its balance on a beam by leaning left or right; REINFORCE on whole episodes, one a step."""
# fault: dead_entropy

import math
import random

import torch
import torch.nn as nn
from torch.distributions import Categorical

random.seed(5)
torch.manual_seed(5)


class Beam:
    def reset(self):
        self.lean, self.speed, self.t = 0.1 * random.uniform(-1, 1), 0.0, 0
        return torch.tensor([self.lean, self.speed])

    def step(self, action):
        self.speed += 0.06 * math.sin(self.lean) + 0.05 * (2 * action - 1) + 0.01 * random.gauss(0, 1)
        self.lean, self.t = self.lean + self.speed, self.t + 1
        over = abs(self.lean) > 1
        return torch.tensor([self.lean, self.speed]), 1.0, over or self.t == 60


lr = 0.5  # FAULT
lr = 0.01  # REPAIRED
policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
env, lengths = Beam(), []
for episode in range(200):
    x, over, scores, rewards = env.reset(), False, [], []
    while not over:
        pi = Categorical(logits=policy(x))
        action = pi.sample()
        scores.append(pi.log_prob(action))
        x, reward, over = env.step(action.item())
        rewards.append(reward)
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + 0.95 * g
        returns.append(g)
    returns = torch.tensor(returns[::-1])
    weights = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = -(torch.stack(scores) * weights).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lengths.append(len(rewards))
    if episode % 40 == 39:
        print(f"episode {episode + 1}: {sum(lengths[-40:]) / 40:.1f} steps on the beam")
