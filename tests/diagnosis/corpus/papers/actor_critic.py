"""Advantage actor-critic on a field of parallel carts that have to be held near the origin against random pushes."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(27)
E, n, gamma, lam = 32, 16, 0.95, 0.9  # environments, unroll, discount, GAE
force = torch.tensor([-1.0, 0.0, 1.0])


def reset(k):
    return torch.stack([4 * torch.rand(k) - 2, torch.zeros(k)], 1)


def env_step(s, a):
    """position and speed under a push; reward is highest at the origin; leaving |x| > 3 ends the episode"""
    v = 0.95 * s[:, 1] + 0.3 * force[a] + 0.05 * torch.randn(len(s))
    x = s[:, 0] + 0.3 * v
    out = x.abs() > 3
    r = 0.2 * torch.exp(-(x**2)) - 0.4 * out
    return torch.where(out[:, None], reset(len(s)), torch.stack([x, v], 1)), r, out.float()


class ActorCritic(nn.Module):
    def __init__(self, h=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh())
        self.pi, self.v = nn.Linear(h, 3), nn.Linear(h, 1)
        with torch.no_grad():
            self.pi.weight.mul_(0.01)  # begin close to the uniform policy
            self.pi.bias.zero_()

    def forward(self, s):
        z = self.body(s)
        return self.pi(z).log_softmax(-1), self.v(z).squeeze(-1)


@torch.no_grad()
def evaluate(agent, steps=60):
    s, total = reset(200), 0.0
    for _ in range(steps):
        s, r, _ = env_step(s, agent(s)[0].argmax(-1))
        total += 5 * r.mean().item() / steps
    return total


agent = ActorCritic()
opt = torch.optim.RMSprop(agent.parameters(), lr=2e-3, alpha=0.99, eps=1e-5)
s = reset(E)
print(f"greedy reward per step before training {evaluate(agent):.3f}")
for it in range(200):
    S, A, R, stop = [], [], [], []
    for _ in range(n):
        with torch.no_grad():
            a = torch.multinomial(agent(s)[0].exp(), 1).squeeze(1)
        S.append(s)
        A.append(a)
        s, r, end = env_step(s, a)
        R.append(r)
        stop.append(end)
    logp, val = agent(torch.stack(S))
    with torch.no_grad():
        nxt, adv, gae = agent(s)[1], [], torch.zeros(E)
        for t in reversed(range(n)):
            delta = R[t] + gamma * (1 - stop[t]) * nxt - val[t]
            gae = delta + gamma * lam * (1 - stop[t]) * gae
            adv.insert(0, gae)
            nxt = val[t]
        adv = torch.stack(adv)
        ret = adv + val
    s = torch.where(torch.rand(E, 1) < 0.15, reset(E), s)  # cut some episodes off, bootstrapped above
    chosen = logp.gather(-1, torch.stack(A)[..., None]).squeeze(-1)
    pg = -(chosen * (adv - adv.mean()) / (adv.std() + 1e-6)).mean()
    critic = F.mse_loss(val, ret)
    entropy = -(logp.exp() * logp).sum(-1).mean()
    loss = pg + 0.5 * critic - 0.005 * entropy
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    opt.step()
    if (it + 1) % 40 == 0:
        print(f"{it + 1}: reward {5 * torch.stack(R).mean():.3f} critic {critic:.3f} entropy {entropy:.3f}")
print(f"greedy reward per step after training {evaluate(agent):.3f}")
