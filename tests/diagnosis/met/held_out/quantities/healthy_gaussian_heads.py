"""Mean and variance by two heads, negative log-likelihood; all pairs are compared in a ranking term on purpose."""

import torch
import torch.nn as nn

torch.manual_seed(13)
x = torch.rand(1000, 1) * 6 - 3
y = torch.sin(x) + (0.1 + 0.2 * x.abs()) * torch.randn(1000, 1)


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.mean, self.log_var = nn.Linear(48, 1), nn.Linear(48, 1)

    def forward(self, inputs):
        h = self.body(inputs)
        return self.mean(h), self.log_var(h)


net = Heads()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for step in range(500):
    i = torch.randint(800, (64,))
    mean, log_var = net(x[i])
    nll = 0.5 * (log_var + (y[i] - mean) ** 2 / log_var.exp()).mean()
    order = torch.sign(y[i] - y[i].T)
    rank = nn.functional.softplus(-order * (mean - mean.T)).mean()
    loss = nll + 0.1 * rank
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, nll.item(), rank.item())
