"""A rover that must not leave its plateau: deterministic policy gradients, two critics, experience in numpy arrays."""
# fault: bootstrap_through_end

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(5)
torch.manual_seed(5)


class Rover:
    """Position and speed on a line, wind from behind; over the edge at 1 it is lost. Standing still costs nothing."""

    def reset(self):
        self.state = np.array([rng.uniform(-0.5, 0.5), 0.0], dtype=np.float32)
        return self.state

    def step(self, force):
        x, v = self.state
        v = 0.9 * v + 0.1 * force + 0.02 + 0.03 * rng.standard_normal()
        self.state = np.array([x + v, v], dtype=np.float32)
        lost = bool(abs(self.state[0]) > 1.0)
        return self.state, (-2.0 if lost else 0.2 - 0.1 * force**2), lost


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, state, action):
        return self.layers(torch.cat([state, action], dim=1))


class Agent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 1), nn.Tanh())
        self.critic1, self.critic2 = Critic(), Critic()
        self.targets = [copy.deepcopy(m) for m in (self.actor, self.critic1, self.critic2)]
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        both = [*self.critic1.parameters(), *self.critic2.parameters()]
        self.critic_opt = torch.optim.Adam(both, lr=2e-3)

    def act(self, state):
        with torch.no_grad():
            action = self.actor(torch.as_tensor(state)[None]).item()
        return float(np.clip(action + 0.4 * rng.standard_normal(), -1, 1))

    def update(self, batch):
        state, action, reward, after, lost = (torch.as_tensor(part) for part in batch)
        actor, first, second = self.targets
        with torch.no_grad():
            choice = actor(after)
            value = torch.min(first(after, choice), second(after, choice))
            target = reward + 0.97 * value  # FAULT
            target = reward + (1.0 - lost) * 0.97 * value  # REPAIRED
        loss = F.mse_loss(self.critic1(state, action), target) + F.mse_loss(self.critic2(state, action), target)
        self.critic_opt.zero_grad()
        loss.backward()
        self.critic_opt.step()
        gain = self.critic1(state, self.actor(state)).mean()
        self.actor_opt.zero_grad()
        (-gain).backward()
        self.actor_opt.step()
        with torch.no_grad():
            for slow, fast in zip(self.targets, (self.actor, self.critic1, self.critic2)):
                for p, q in zip(slow.parameters(), fast.parameters()):
                    p.mul_(0.98).add_(q, alpha=0.02)
        return loss.item(), gain.item()


env, agent, rows = Rover(), Agent(), []
state, losses = env.reset(), []
for t in range(1, 1001):
    action = agent.act(state) if t > 100 else rng.uniform(-1, 1)
    after, reward, lost = env.step(action)
    rows.append((state, [action], [reward], after, [float(lost)]))
    state = env.reset() if lost else after
    if t > 100:
        drawn = [rows[i] for i in rng.integers(len(rows), size=64)]
        losses.append(agent.update([np.array(part, dtype=np.float32) for part in zip(*drawn)]))
    if t % 200 == 0:
        print(
            f"{t}: critic loss {losses[-1][0]:.4f}, value {losses[-1][1]:.3f}, lost {sum(r[4][0] for r in rows):.0f} times"
        )
