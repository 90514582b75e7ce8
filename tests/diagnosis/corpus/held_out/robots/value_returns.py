"""Fits a state-value function for a damped cart from Monte Carlo returns of logged episodes."""
# fault: target_broadcast

import numpy as np
import torch
from torch import nn

GAMMA = 0.95


def collect(n_episodes, rng, horizon=60, keep=30):
    """Roll a noisy PD controller and keep the discounted return of the first states."""
    pos, vel = rng.uniform(-2, 2, n_episodes), rng.uniform(-1, 1, n_episodes)
    states, rewards = [], []
    for _ in range(horizon):
        states.append(np.stack([pos, vel], 1))
        force = -0.8 * pos - 0.6 * vel + 0.1 * rng.standard_normal(n_episodes)
        rewards.append(-(pos**2) - 0.1 * force**2)
        vel = vel + 0.2 * force
        pos = pos + 0.2 * vel
    returns, acc = [], np.zeros(n_episodes)
    for r in reversed(rewards):
        acc = r + GAMMA * acc
        returns.append(acc)
    returns.reverse()
    obs = np.concatenate(states[:keep])
    ret = np.concatenate(returns[:keep])
    return torch.tensor(obs, dtype=torch.float32), torch.tensor(ret, dtype=torch.float32)


class Critic(nn.Module):
    def __init__(self, obs_dim, hidden=48):
        super().__init__()
        self.l1 = nn.Linear(obs_dim, hidden)
        self.l2 = nn.Linear(hidden, hidden)
        self.v = nn.Linear(hidden, 1)

    def forward(self, s):
        h = torch.tanh(self.l1(s))
        h = torch.tanh(self.l2(h))
        return self.v(h)


rng = np.random.default_rng(11)
torch.manual_seed(11)
obs, ret = collect(150, rng)
test_obs, test_ret = collect(40, rng)

o_mean, o_std = obs.mean(0), obs.std(0)
r_mean, r_std = ret.mean(), ret.std()
obs, test_obs = (obs - o_mean) / o_std, (test_obs - o_mean) / o_std
ret, test_ret = (ret - r_mean) / r_std, (test_ret - r_mean) / r_std

critic = Critic(2)
opt = torch.optim.Adam(critic.parameters(), lr=2e-3)

for epoch in range(10):
    order = torch.randperm(len(obs))
    total, batches = 0.0, 0
    for start in range(0, len(obs) - 99, 100):
        idx = order[start : start + 100]
        value = critic(obs[idx])  # FAULT
        value = critic(obs[idx]).squeeze(-1)  # REPAIRED
        loss = ((value - ret[idx]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        batches += 1
    print(f"epoch {epoch}  value loss {total / batches:.4f}")

with torch.no_grad():
    pred = critic(test_obs)[:, 0]
    explained = 1 - ((test_ret - pred) ** 2).mean() / test_ret.var()
print(f"explained variance on new episodes: {explained.item():.3f}")
