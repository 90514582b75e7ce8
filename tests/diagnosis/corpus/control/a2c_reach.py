"""Advantage actor-critic on 64 parallel reaching tasks: steer a point to a goal, two optimisers, noisy returns."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(23)
N, HORIZON, GAMMA = 64, 12, 0.9
DIRS = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


def reset():
    return torch.rand(N, 2) * 2 - 1, torch.rand(N, 2) * 2 - 1


def features(pos, goal):
    return torch.cat([pos, goal, goal - pos], 1)


actor = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 4))
critic = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 1))
nn.init.zeros_(actor[-1].weight)  # start from the uniform policy
nn.init.zeros_(actor[-1].bias)
actor_opt = torch.optim.Adam(actor.parameters(), lr=5e-3)
critic_opt = torch.optim.RMSprop(critic.parameters(), lr=3e-3)


def episode(greedy=False):
    pos, goal = reset()
    obs, acts, rewards = [], [], []
    for _ in range(HORIZON):
        o = features(pos, goal)
        with torch.no_grad():
            out = actor(o)
            a = out.argmax(1) if greedy else Categorical(logits=out).sample()
        before = (goal - pos).norm(dim=1)
        pos = (pos + 0.2 * DIRS[a] + 0.02 * torch.randn(N, 2)).clamp(-1.2, 1.2)
        obs.append(o)
        acts.append(a)
        rewards.append(5 * (before - (goal - pos).norm(dim=1)))
    return torch.stack(obs), torch.stack(acts), torch.stack(rewards), (goal - pos).norm(dim=1)


for it in range(1, 201):
    obs, acts, rewards, dist = episode()
    ret, future = [], torch.zeros(N)
    for r in reversed(rewards):
        future = r + GAMMA * future
        ret.insert(0, future)
    ret = torch.stack(ret)

    value = critic(obs).squeeze(-1)
    advantage = (ret - value).detach()
    advantage = advantage / (advantage.std() + 1e-6)
    pi = Categorical(logits=actor(obs))
    actor_loss = -(pi.log_prob(acts) * advantage).mean() - 0.01 * pi.entropy().mean()
    critic_loss = (ret - value).pow(2).mean()

    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    if it % 40 == 0 or it == 1:
        total = rewards.sum(0).mean().item()
        print(f"{it:3d} return {total:6.2f}  end distance {dist.mean():.3f}  critic loss {critic_loss.item():.3f}")

print(f"greedy end distance {episode(greedy=True)[3].mean():.3f}")
