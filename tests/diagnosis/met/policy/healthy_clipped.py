"""PPO-like updates for a continuous action: ratio, clip, several epochs on one batch."""

import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(3)
actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.zeros(1))
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters(), log_std], lr=3e-3)
for iteration in range(40):
    with torch.no_grad():
        s = torch.randn(128, 3)
        old = Normal(actor(s), log_std.exp())
        a = old.sample()
        old_lp = old.log_prob(a).squeeze(1)
        reward = -(a.squeeze(1) - s.sum(1)).abs()
        advantage = reward - critic(s).squeeze(1)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(6):
        for i in torch.randperm(128).split(64):
            dist = Normal(actor(s[i]), log_std.exp())
            ratio = (dist.log_prob(a[i]).squeeze(1) - old_lp[i]).exp()
            surrogate = torch.min(ratio * advantage[i], ratio.clamp(0.8, 1.2) * advantage[i]).mean()
            v_loss = (critic(s[i]).squeeze(1) - reward[i]).pow(2).mean()
            loss = -surrogate + 0.5 * v_loss - 0.001 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters(), log_std], 0.5)
            opt.step()
    if iteration % 8 == 0:
        print(iteration, reward.mean().item())
