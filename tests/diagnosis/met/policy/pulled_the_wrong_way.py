"""DDPG for a pendulum: the function that lets target networks follow is called with its arguments exchanged."""
# fault: target_never_synchronised

import copy
import random
from collections import deque

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Tanh())

    def forward(self, s):
        return 2 * self.net(s)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], 1))


def soft_update(target, source, tau=0.01):
    with torch.no_grad():
        for t, s in zip(target.parameters(), source.parameters()):
            t.copy_(t * (1 - tau) + s * tau)


env = gym.make("Pendulum-v1")
actor, critic = Actor(), Critic()
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=2e-3)
buffer = deque(maxlen=20000)
state, _ = env.reset(seed=0)
total = 0.0
for step in range(1200):
    with torch.no_grad():
        action = actor(torch.as_tensor(state)).numpy() + np.random.normal(0, 0.3, 1)
    after, reward, ended, late, _ = env.step(action.clip(-2, 2).astype(np.float32))
    buffer.append((state, action.astype(np.float32), np.float32(reward / 8), after, np.float32(ended)))
    state, total = after, total + reward
    if ended or late:
        print(step, total)
        total = 0.0
        state, _ = env.reset()
    if len(buffer) < 200:
        continue
    s, a, r, s2, d = (torch.as_tensor(np.stack(z)) for z in zip(*random.sample(buffer, 64)))
    with torch.no_grad():
        y = r[:, None] + 0.98 * (1 - d[:, None]) * critic_target(s2, actor_target(s2))
    critic_loss = F.mse_loss(critic(s, a), y)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    actor_loss = -critic(s, actor(s)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    soft_update(actor, actor_target)  # FAULT
    soft_update(critic, critic_target)  # FAULT
    soft_update(actor_target, actor)  # REPAIRED
    soft_update(critic_target, critic)  # REPAIRED
