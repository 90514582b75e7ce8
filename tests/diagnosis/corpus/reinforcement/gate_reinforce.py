"""REINFORCE as in a first tutorial: a ball rolls to the left or right gate, whichever is lit."""
# fault: scores_other_actions

import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

random.seed(7)
torch.manual_seed(7)


class Gates:
    def reset(self):
        self.lit, self.x, self.t = random.choice([-1, 1]), 0.2 * random.random() - 0.1, 0
        return [self.x, float(self.lit), self.t / 10]

    def step(self, action):
        self.x += 0.2 * (2 * action - 1) + 0.05 * random.gauss(0, 1)
        self.t += 1
        through = abs(self.x) > 1
        reward = (1.0 if self.x * self.lit > 0 else -1.0) if through else -0.02
        return [self.x, float(self.lit), self.t / 10], reward, through or self.t >= 20


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(3, 64)
        self.affine2 = nn.Linear(64, 2)
        self.saved_log_probs, self.rewards = [], []

    def forward(self, x):
        return torch.softmax(self.affine2(torch.relu(self.affine1(x))), dim=1)


policy, env = Policy(), Gates()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
running = 0.0
for episode in range(1, 251):
    state, done = env.reset(), False
    while not done:
        m = Categorical(policy(torch.tensor([state])))
        action = m.sample()
        policy.saved_log_probs.append(m.log_prob(m.sample()))  # FAULT
        policy.saved_log_probs.append(m.log_prob(action))  # REPAIRED
        state, reward, done = env.step(action.item())
        policy.rewards.append(reward)
    R, returns = 0, []
    for r in reversed(policy.rewards):
        R = r + 0.99 * R
        returns.insert(0, R)
    running = 0.05 * sum(policy.rewards) + 0.95 * running
    returns = torch.tensor(returns)
    returns = (returns - 0.3) / 1.0
    loss = torch.cat([-log_prob * R for log_prob, R in zip(policy.saved_log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    policy.saved_log_probs, policy.rewards = [], []
    if episode % 50 == 0:
        print(f"episode {episode}  running reward {running:.2f}")
