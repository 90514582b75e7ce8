"""PPO in one file: actor and critic share a trunk, minibatches of a rollout, clipped ratios, an entropy bonus."""

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

np.random.seed(1)
torch.manual_seed(1)
NUM_ENVS, NUM_STEPS, EPOCHS, MINIBATCHES = 8, 32, 4, 4
GAMMA, LAMBDA, CLIP = 0.97, 0.95, 0.2


class Walks:
    """A ball on a line is pushed to the middle: a reward for being near it, an end at the edges, a limit of time."""

    def __init__(self, count):
        self.x, self.v, self.t = np.zeros(count), np.zeros(count), np.zeros(count, int)
        self.begin(np.ones(count, bool))

    def begin(self, where):
        self.x[where], self.v[where], self.t[where] = np.random.uniform(-0.8, 0.8, where.sum()), 0.0, 0
        return self.obs()

    def obs(self):
        return np.stack([self.x, self.v], 1).astype(np.float32)

    def step(self, a):
        self.v = 0.9 * self.v + 0.05 * (a - 1) + 0.01 * np.random.randn(len(a))
        self.x, self.t = self.x + self.v, self.t + 1
        fell, late = np.abs(self.x) > 1.5, self.t >= 60
        reward = np.where(fell, -5.0, 1.0 - np.abs(self.x))
        last = self.obs()
        return self.begin(fell | late), reward.astype(np.float32), fell, late & ~fell, last


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 3), nn.Linear(64, 1)
        nn.init.orthogonal_(self.actor.weight, 0.01)

    def value(self, x):
        return self.critic(self.trunk(x)).squeeze(-1)

    def forward(self, x, action=None):
        h = self.trunk(x)
        pi = Categorical(logits=self.actor(h))
        action = pi.sample() if action is None else action
        return action, pi.log_prob(action), pi.entropy(), self.critic(h).squeeze(-1)


envs, agent = Walks(NUM_ENVS), Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, eps=1e-5)
obs = envs.obs()
for update in range(40):
    rows = {name: [] for name in ("obs", "act", "logp", "val", "rew", "over", "next")}
    with torch.no_grad():
        for _ in range(NUM_STEPS):
            x = torch.from_numpy(obs)
            act, logp, _, val = agent(x)
            obs, reward, fell, late, last = envs.step(act.numpy())
            after = agent.value(torch.from_numpy(last)) * torch.from_numpy(~fell)
            over = torch.from_numpy(fell | late).float()
            for name, row in zip(rows, (x, act, logp, val, torch.from_numpy(reward), over, after)):
                rows[name].append(row)
    b = {name: torch.stack(parts) for name, parts in rows.items()}
    adv, carry = torch.zeros_like(b["rew"]), torch.zeros(NUM_ENVS)
    for t in reversed(range(NUM_STEPS)):
        delta = b["rew"][t] + GAMMA * b["next"][t] - b["val"][t]
        carry = adv[t] = delta + GAMMA * LAMBDA * (1 - b["over"][t]) * carry
    ret = (adv + b["val"]).flatten()
    flat = {name: part.flatten(0, 1) for name, part in b.items()}
    adv = adv.flatten()
    for _ in range(EPOCHS):
        for idx in torch.randperm(len(adv)).chunk(MINIBATCHES):
            _, logp, entropy, value = agent(flat["obs"][idx], flat["act"][idx])
            ratio = (logp - flat["logp"][idx]).exp()
            a = (adv[idx] - adv[idx].mean()) / (adv[idx].std() + 1e-8)
            policy_loss = -torch.min(ratio * a, ratio.clamp(1 - CLIP, 1 + CLIP) * a).mean()
            value_loss = (value - ret[idx]).square().mean()
            loss = policy_loss + 0.5 * value_loss - 0.01 * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    if update % 5 == 4:
        print(f"update {update + 1}  mean reward {b['rew'].mean():.3f}  value loss {value_loss:.3f}")
