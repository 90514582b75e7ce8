"""REINFORCE on CartPole, from a lecture; the loss is written without its sign."""
# fault: uphill_steps

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
env = gym.make("CartPole-v1")
policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)


def discounted(rewards, gamma=0.99):
    out, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        out.insert(0, running)
    out = torch.tensor(out)
    return (out - out.mean()) / (out.std() + 1e-8)


history = []
for episode in range(120):
    state, _ = env.reset(seed=episode)
    log_probs, rewards = [], []
    while True:
        dist = Categorical(logits=policy(torch.as_tensor(state)))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        state, reward, terminated, truncated, _ = env.step(action.item())
        rewards.append(reward)
        if terminated or truncated:
            break
    loss = (torch.stack(log_probs) * discounted(rewards)).sum()  # FAULT
    loss = -(torch.stack(log_probs) * discounted(rewards)).sum()  # REPAIRED
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(sum(rewards))
    if episode % 20 == 19:
        print(episode, np.mean(history[-20:]))
