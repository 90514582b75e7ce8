"""Four dials are turned towards marks that drift; PPO, with a last layer that is not sure of anything at first."""
# fault: dead_entropy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(41)
RATE = 0.3  # FAULT
RATE = 1e-3  # REPAIRED


def layer(a, b, gain=1.0):
    made = nn.Linear(a, b)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.zeros_(made.bias)
    return made


actor = nn.Sequential(layer(2, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 3, 0.01))
critic = nn.Sequential(layer(2, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1))
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=RATE)
dial, mark = torch.zeros(16), torch.randn(16)
for update in range(30):
    S, A, L, V, R = [], [], [], [], []
    for _ in range(24):
        s = torch.stack([dial, mark], 1)
        with torch.no_grad():
            pi, v = Categorical(logits=actor(s)), critic(s).squeeze(1)
            a = pi.sample()
        dial = (dial + 0.2 * (a - 1)).clamp(-3, 3)
        mark = (mark + 0.1 * torch.randn(16)).clamp(-2, 2)
        for store, item in zip((S, A, L, V, R), (s, a, pi.log_prob(a), v, 2 - (dial - mark).abs())):
            store.append(item)
    with torch.no_grad():
        after = critic(torch.stack([dial, mark], 1)).squeeze(1)
    adv, carry = [], torch.zeros(16)
    for t in reversed(range(24)):
        delta = R[t] + 0.9 * after - V[t]
        carry, after = delta + 0.9 * 0.9 * carry, V[t]
        adv.insert(0, carry)
    s, a, old, adv, v = (torch.cat(part) for part in (S, A, L, adv, V))
    target = adv + v
    for _ in range(4):
        for i in torch.randperm(len(s)).chunk(4):
            pi = Categorical(logits=actor(s[i]))
            ratio = (pi.log_prob(a[i]) - old[i]).exp()
            gain = (adv[i] - adv[i].mean()) / (adv[i].std() + 1e-6)
            surrogate = torch.min(ratio * gain, torch.clamp(ratio, 0.8, 1.2) * gain).mean()
            loss = 0.5 * F.mse_loss(critic(s[i]).squeeze(1), target[i]) - surrogate - 0.01 * pi.entropy().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    if update % 6 == 5:
        print(f"update {update + 1}: reward {torch.stack(R).mean():.3f}, entropy {pi.entropy().mean():.3f}")
