"""A valve keeps the level of eight tanks; PPO with everything in one function and one network for all."""
# fault: ratio_always_one

import torch
import torch.nn as nn
from torch.distributions import Categorical


class TankNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi, self.v = nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.pi(h), self.v(h).squeeze(-1)


def tanks(level, flow, valve):
    flow = (0.95 * flow + 0.1 * torch.randn(len(flow))).clamp(-1, 1)
    level = (level + 0.2 * flow + 0.25 * (valve - 1)).clamp(-2, 2)
    return level, flow, 1 - level.abs()


def main():
    torch.manual_seed(3)
    net = TankNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    level, flow = torch.randn(8), torch.zeros(8)
    for update in range(25):
        obs, acts, rewards, values, kept = [], [], [], [], []
        with torch.no_grad():
            for _ in range(32):
                x = torch.stack([level, flow], 1)
                logits, value = net(x)
                pi = Categorical(logits=logits)
                act = pi.sample()
                level, flow, reward = tanks(level, flow, act)
                for store, item in zip((obs, acts, rewards, values, kept), (x, act, reward, value, pi.log_prob(act))):
                    store.append(item)
            last = net(torch.stack([level, flow], 1))[1]
        returns, g = [], last
        for r in reversed(rewards):
            g = r + 0.9 * g
            returns.insert(0, g)
        obs, acts, kept = torch.cat(obs), torch.cat(acts), torch.cat(kept)
        returns, values = torch.cat(returns), torch.cat(values)
        for _ in range(4):
            for rows in torch.randperm(len(obs)).split(64):
                with torch.no_grad():  # FAULT
                    kept[rows] = Categorical(logits=net(obs[rows])[0]).log_prob(acts[rows])  # FAULT
                logits, value = net(obs[rows])
                pi = Categorical(logits=logits)
                adv = returns[rows] - values[rows]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                ratio = (pi.log_prob(acts[rows]) - kept[rows]).exp()
                policy_loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
                loss = policy_loss + 0.5 * nn.functional.mse_loss(value, returns[rows]) - 0.01 * pi.entropy().mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                opt.step()
        if update % 5 == 4:
            print(f"update {update + 1}: reward {torch.stack(rewards).mean():.3f}")


main()
