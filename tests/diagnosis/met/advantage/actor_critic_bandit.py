"""Actor and critic for a contextual bandit; the advantage is what came beyond the critic's guess."""
# fault: target_broadcast

import torch
import torch.nn as nn

torch.manual_seed(1)
best = torch.randn(6, 4)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h)


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for update in range(250):
    state = torch.randn(64, 6)
    dist, value = net(state)
    action = dist.sample()
    reward = (state @ best).gather(1, action[:, None]).squeeze(1) + 0.1 * torch.randn(64)
    value = value.squeeze(1)  # REPAIRED
    advantage = reward - value.detach()
    policy_loss = -(dist.log_prob(action) * advantage).mean()
    value_loss = nn.functional.mse_loss(value.view(-1), reward)
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if update % 50 == 49:
        print(update, reward.mean().item(), value_loss.item())
