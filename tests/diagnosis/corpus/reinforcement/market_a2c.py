"""Buy, hold or sell at noisy waves of prices: actor and critic on sixty-four stalls at once, all in tensors."""
# fault: scores_other_actions

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(19)
STALLS, HOURS = 64, 10


class Trader(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.choice, self.worth = nn.Linear(48, 3), nn.Linear(48, 1)

    def forward(self, x):
        h = self.body(x)
        return F.log_softmax(self.choice(h), dim=-1), self.worth(h).squeeze(-1)


def prices(phase):
    return torch.stack([torch.sin(phase), torch.cos(phase)], 1)


trader = Trader()
opt = torch.optim.Adam(trader.parameters(), lr=3e-3)
phase, stock = 6.28 * torch.rand(STALLS), torch.zeros(STALLS)
for day in range(150):
    chosen, values, gains, spreads = [], [], [], []
    for _ in range(HOURS):
        view = torch.cat([prices(phase), stock[:, None]], 1)
        logp, value = trader(view)
        action = torch.multinomial(logp.exp(), 1)
        chosen.append(logp.gather(1, logp.argmax(1, keepdim=True)).squeeze(1))  # FAULT
        chosen.append(logp.gather(1, action).squeeze(1))  # REPAIRED
        values.append(value)
        spreads.append(-(logp.exp() * logp).sum(1))
        stock = (stock + action.squeeze(1) - 1).clamp(-1, 1)
        before = torch.sin(phase)
        phase = phase + 0.5 + 0.1 * torch.randn(STALLS)
        gains.append(stock * (torch.sin(phase) - before))
    with torch.no_grad():
        g = trader(torch.cat([prices(phase), stock[:, None]], 1))[1]
    returns = []
    for gain in reversed(gains):
        g = gain + 0.8 * g
        returns.insert(0, g)
    returns, values = torch.stack(returns), torch.stack(values)
    advantage = (returns - values).detach()
    loss = -(torch.stack(chosen) * advantage).mean() + 0.5 * (returns - values).pow(2).mean()
    loss = loss - 0.01 * torch.stack(spreads).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if day % 30 == 29:
        print(f"day {day + 1}: gain an hour {torch.stack(gains).mean():.4f}")
