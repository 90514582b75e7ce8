"""Deterministic actor-critic (two critics, slowly moving targets) that brings a point mass to rest at the origin."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def mlp(a, h, b):
    return nn.Sequential(nn.Linear(a, h), nn.ELU(), nn.Linear(h, h), nn.ELU(), nn.Linear(h, b))


def make_actor():
    body = mlp(2, 32, 1)
    nn.init.zeros_(body[-1].weight)  # begin with no force at all
    return nn.Sequential(body, nn.Tanh())


class PointMass:
    def __init__(self, copies):
        self.n = copies
        self.s = None

    def reset(self):
        self.s = torch.rand(self.n, 2) * 2 - 1
        return self.s

    def step(self, a):
        x, v = self.s.unbind(1)
        v = 0.95 * v + 0.2 * a[:, 0] + 0.01 * torch.randn(self.n)
        x = x + 0.2 * v
        self.s = torch.stack([x, v], 1).clamp(-2, 2)
        return self.s, -(x**2 + 0.1 * v**2 + 0.01 * a[:, 0] ** 2)


@torch.no_grad()
def rollout_return(actor, steps=40):
    env = PointMass(128)
    s, total = env.reset(), 0.0
    for _ in range(steps):
        s, r = env.step(actor(s))
        total += r.mean().item()
    return total


def polyak(slow, fast, tau=0.02):
    with torch.no_grad():
        for a, b in zip(slow.parameters(), fast.parameters()):
            a.lerp_(b, tau)


def main():
    torch.manual_seed(13)
    actor = make_actor()
    critics = nn.ModuleList([mlp(3, 48, 1) for _ in range(2)])
    slow_actor, slow_critics = copy.deepcopy(actor), copy.deepcopy(critics)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_opt = torch.optim.Adam(critics.parameters(), lr=2e-3)

    env = PointMass(8)
    S, A, R, S2 = (torch.zeros(6000, k) for k in (2, 1, 1, 2))
    filled = 0
    print(f"before: return {rollout_return(actor):.2f}")
    s = env.reset()
    for t in range(700):
        if t % 40 == 0:
            s = env.reset()
        with torch.no_grad():
            a = (actor(s) + 0.3 * torch.randn(8, 1)).clamp(-1, 1)
        s2, r = env.step(a)
        rows = slice(filled, filled + 8)
        S[rows], A[rows], R[rows], S2[rows] = s, a, r[:, None], s2
        filled, s = filled + 8, s2
        if t < 40:
            continue

        i = torch.randint(0, filled, (64,))
        with torch.no_grad():
            a2 = (slow_actor(S2[i]) + (0.1 * torch.randn(64, 1)).clamp(-0.2, 0.2)).clamp(-1, 1)
            nxt = torch.cat([S2[i], a2], 1)
            y = R[i] + 0.95 * torch.minimum(slow_critics[0](nxt), slow_critics[1](nxt))
        sa = torch.cat([S[i], A[i]], 1)
        critic_loss = F.mse_loss(critics[0](sa), y) + F.mse_loss(critics[1](sa), y)
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()

        if t % 2 == 0:
            actor_loss = -critics[0](torch.cat([S[i], actor(S[i])], 1)).mean()
            actor_opt.zero_grad()
            actor_loss.backward()
            actor_opt.step()
            polyak(slow_actor, actor)
            polyak(slow_critics, critics)
        if (t + 1) % 100 == 0:
            score = rollout_return(actor)
            print(f"{t + 1} critic {critic_loss.item():.4f} actor {actor_loss.item():.3f} return {score:.2f}")


main()
