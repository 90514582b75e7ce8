"""REINFORCE as in a tutorial: one episode, one update, returns in units of their spread."""

import gymnasium as gym
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
env = gym.make("CartPole-v1")
policy = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
running = 10.0
for episode in range(100):
    state, _ = env.reset(seed=episode)
    log_probs, rewards, over = [], [], False
    while not over:
        distribution = Categorical(logits=policy(torch.from_numpy(state)))
        action = distribution.sample()
        log_probs.append(distribution.log_prob(action))
        state, reward, ended, late, _ = env.step(action.item())
        rewards.append(reward)
        over = ended or late
    returns, g = [], 0.0
    for reward in reversed(rewards):
        g = reward + 0.99 * g
        returns.insert(0, g)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = -(torch.stack(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = 0.95 * running + 0.05 * sum(rewards)
    if episode % 20 == 19:
        print(f"episode {episode + 1}  running reward {running:.1f}")
