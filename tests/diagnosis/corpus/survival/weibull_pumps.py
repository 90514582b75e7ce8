"""Weibull regression for the life time of water pumps (noted in whole weeks, right-censored), negative log-likelihood."""
# fault: nan_loss

import torch
import torch.nn as nn

torch.manual_seed(5)
gen = torch.Generator().manual_seed(6)


def simulate_fleet(n):
    x = torch.randn(n, 5, generator=gen)
    log_scale = 3.5 + 0.9 * x[:, 0] - 0.6 * x[:, 1] + 0.4 * torch.sin(2 * x[:, 2])
    u = torch.rand(n, generator=gen).clamp(1e-6, 1 - 1e-6)
    life = torch.exp(log_scale) * (-torch.log(u)) ** (1 / 1.6)
    end_of_study = 40 + 80 * torch.rand(n, generator=gen)
    died = (life <= end_of_study).float()
    weeks = torch.floor(torch.minimum(life, end_of_study))
    return x, weeks / 52, died


class WeibullNet(nn.Module):
    def __init__(self, d, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, 1)
        self.log_shape = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1), self.log_shape


def neg_log_lik(log_scale, log_shape, t, event):
    k = log_shape.exp()
    log_t = torch.log(t)  # FAULT
    log_t = torch.log(t + 0.5 / 52)  # REPAIRED
    z = log_t - log_scale
    log_hazard = log_shape + (k - 1) * z - log_scale
    cum_hazard = torch.exp(k * z)
    return -(event * log_hazard - cum_hazard).mean()


x_train, t_train, d_train = simulate_fleet(1600)
x_val, t_val, d_val = simulate_fleet(500)
net = WeibullNet(5)
opt = torch.optim.Adam(net.parameters(), lr=4e-3)

for epoch in range(1, 25):
    net.train()
    losses = []
    for rows in torch.randperm(1600, generator=gen).chunk(25):
        log_scale, log_shape = net(x_train[rows])
        nll = neg_log_lik(log_scale, log_shape, t_train[rows], d_train[rows])
        opt.zero_grad()
        nll.backward()
        opt.step()
        losses.append(nll.item())
    if epoch % 4 == 0 or epoch == 1:
        net.eval()
        with torch.no_grad():
            val = neg_log_lik(*net(x_val), t_val, d_val).item()
        print(f"epoch {epoch}: nll {sum(losses) / len(losses):.3f}, val {val:.3f}, k={net.log_shape.exp().item():.2f}")
