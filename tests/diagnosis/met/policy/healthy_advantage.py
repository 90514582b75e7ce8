"""Advantage actor-critic with detached advantages and an entropy bonus."""

import torch
import torch.nn as nn

torch.manual_seed(2)
best = torch.randn(6, 4)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return self.pi(h), self.v(h).squeeze(-1)


net = ActorCritic()
opt = torch.optim.RMSprop(net.parameters(), lr=2e-3)
for update in range(300):
    state = torch.randn(32, 6)
    logits, value = net(state)
    dist = torch.distributions.Categorical(logits=logits)
    action = dist.sample()
    reward = (state @ best).gather(1, action[:, None]).squeeze(1)
    advantage = (reward - value).detach()
    loss = (
        -(dist.log_prob(action) * advantage).mean()
        + 0.5 * (reward - value).pow(2).mean()
        - 0.01 * dist.entropy().mean()
    )
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    opt.step()
    if update % 60 == 0:
        print(update, reward.mean().item())
