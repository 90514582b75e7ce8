"""Parcels are pushed to one of four belts by what a scanner sees of them; PPO in small batches of each shift."""
# fault: scores_other_actions

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

rng = np.random.default_rng(13)
torch.manual_seed(13)
SHIFT, EPOCHS, BATCH, CLIP = 256, 3, 64, 0.2
CENTRES = rng.normal(size=(4, 6)).astype(np.float32)


def parcels(count):
    kind = rng.integers(4, size=count)
    return kind, CENTRES[kind] + 0.5 * rng.normal(size=(count, 6)).astype(np.float32)


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 4))
        self.critic = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 1))

    def act(self, x):
        pi = Categorical(logits=self.actor(x))
        action = pi.sample()
        return action, pi.log_prob(action)

    def evaluate(self, x, action):
        pi = Categorical(logits=self.actor(x))
        return pi.log_prob(action), pi.entropy(), self.critic(x).squeeze(-1)


model = Sorter()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for shift in range(25):
    kind, seen = parcels(SHIFT)
    obs = torch.from_numpy(seen)
    with torch.no_grad():
        action, old = model.act(obs)
    reward = torch.from_numpy((action.numpy() == kind).astype(np.float32))
    for _ in range(EPOCHS):
        order = torch.randperm(SHIFT)
        for start in range(0, SHIFT, BATCH):
            rows = order[start : start + BATCH]
            taken = action[start : start + BATCH]  # FAULT
            taken = action[rows]  # REPAIRED
            new, entropy, value = model.evaluate(obs[rows], taken)
            advantage = reward[rows] - value.detach()
            ratio = torch.exp(new - old[rows])
            surrogate = torch.min(ratio * advantage, torch.clamp(ratio, 1 - CLIP, 1 + CLIP) * advantage)
            loss = -surrogate.mean() + 0.5 * (reward[rows] - value).pow(2).mean() - 0.01 * entropy.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    if shift % 5 == 4:
        print(f"shift {shift + 1}: {reward.mean():.1%} of the parcels on the right belt")
