"""REINFORCE on a bandit with a context: the arm with the same number as the context pays."""

# fault: uphill_steps
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(44)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 32)
        self.head = nn.Linear(32, 4)

    def forward(self, context):
        return torch.softmax(self.head(torch.relu(self.fc(context))), dim=-1)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
history = []
for episode in range(200):
    context = torch.randint(0, 4, (16,))
    dist = Categorical(policy(nn.functional.one_hot(context, 4).float()))
    arm = dist.sample()
    reward = torch.where(arm == context, 1.0, 0.0) + 0.1 * torch.randn(16)
    advantage = reward - reward.mean()
    policy_loss = (dist.log_prob(arm) * advantage).sum()  # FAULT
    policy_loss = -(dist.log_prob(arm) * advantage).sum()  # REPAIRED
    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()
    history.append(reward.mean().item())
    if episode % 40 == 39:
        print("episode", episode + 1, "mean reward", round(sum(history[-40:]) / 40, 3))
