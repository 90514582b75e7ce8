"""A critic learns discounted returns of a random walk."""
# fault: target_broadcast

import torch
import torch.nn as nn

torch.manual_seed(2)
states, returns = [], []
for _ in range(60):
    position, path, rewards = 0.0, [], []
    for _ in range(20):
        path.append([position, 1.0])
        position += float(torch.randn(()) * 0.5)
        rewards.append(-abs(position))
    g, found = 0.0, []
    for r in reversed(rewards):
        g = r + 0.9 * g
        found.insert(0, [g])
    states += path
    returns += found
states, returns = torch.tensor(states), torch.tensor(returns)
returns = (returns - returns.mean()) / returns.std()


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, s):
        return self.net(s).squeeze(-1)  # FAULT
        return self.net(s)  # REPAIRED


critic = Critic()
opt = torch.optim.Adam(critic.parameters(), lr=2e-3)
for epoch in range(15):
    for i in torch.randperm(len(states)).split(40):
        delta = returns[i] - critic(states[i])
        loss = 0.5 * delta.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
