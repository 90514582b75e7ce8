"""REINFORCE with a learned baseline for walkers in a slippery corridor (32 walkers are simulated side by side)."""
# fault: graph_growth

import torch
import torch.nn as nn

torch.manual_seed(4)

LENGTH = 9
HORIZON = 18
WALKERS = 32
GAMMA = 0.97


class Corridor:
    """Cells 0..8, start near the middle, treasure in the last cell, a small fee for every move, 10% slips."""

    def reset(self):
        self.pos = torch.randint(2, 6, (WALKERS,))
        self.done = torch.zeros(WALKERS, dtype=torch.bool)
        return self.observe()

    def observe(self):
        return nn.functional.one_hot(self.pos, LENGTH).float()

    def step(self, action):
        move = action * 2 - 1
        move = torch.where(torch.rand(WALKERS) < 0.1, -move, move)
        self.pos = torch.where(self.done, self.pos, (self.pos + move).clamp(0, LENGTH - 1))
        arrived = (self.pos == LENGTH - 1) & ~self.done
        reward = torch.where(self.done, 0.0, -0.05) + arrived.float()
        alive = ~self.done
        self.done = self.done | arrived
        return self.observe(), reward, alive


policy = nn.Sequential(nn.Linear(LENGTH, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(LENGTH, 64), nn.Tanh(), nn.Linear(64, 1))
pi_opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
v_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)

env = Corridor()
probe = torch.eye(LENGTH).repeat(20, 1) + 0.02 * torch.randn(20 * LENGTH, LENGTH)
avg_value = 0.0

for it in range(160):
    obs = env.reset()
    states, logps, rewards, masks, ents = [], [], [], [], []
    for t in range(HORIZON):
        dist = torch.distributions.Categorical(logits=policy(obs))
        a = dist.sample()
        states.append(obs)
        logps.append(dist.log_prob(a))
        ents.append(dist.entropy())
        obs, r, alive = env.step(a)
        rewards.append(r)
        masks.append(alive.float())

    G = torch.zeros(WALKERS)
    returns = []
    for r in reversed(rewards):
        G = r + GAMMA * G
        returns.insert(0, G)
    returns, masks = torch.stack(returns), torch.stack(masks)

    values = critic(torch.stack(states)).squeeze(-1)
    advantage = (returns - values).detach()
    pi_loss = -((torch.stack(logps) * advantage + 0.01 * torch.stack(ents)) * masks).sum() / masks.sum()
    pi_opt.zero_grad()
    pi_loss.backward()
    pi_opt.step()

    v_loss = (((values - returns) ** 2) * masks).sum() / masks.sum()
    v_opt.zero_grad()
    v_loss.backward()
    v_opt.step()

    # smoothed value of a fixed set of states, to see whether the critic settles
    avg_value = 0.95 * avg_value + 0.05 * critic(probe).mean()  # FAULT
    avg_value = 0.95 * avg_value + 0.05 * critic(probe).mean().item()  # REPAIRED

    if it % 20 == 0 or it == 159:
        mean_return = torch.stack(rewards).sum(0).mean().item()
        print(f"iter {it:4d} return {mean_return:+.3f} v_loss {v_loss.item():.4f} avg value {avg_value:+.3f}")
