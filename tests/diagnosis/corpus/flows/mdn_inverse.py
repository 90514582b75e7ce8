"""Mixture density network for the inverse of a noisy wave: given height and gauges, which positions are possible?"""
# fault: dead_relu

import math

import torch

torch.manual_seed(50)


def sample(n):
    pos = torch.rand(n, 1) * 2 - 1
    gauges = torch.randn(n, 5)
    height = pos + 0.3 * torch.sin(2 * math.pi * pos) + 0.2 * gauges[:, :1] + 0.05 * torch.randn(n, 1)
    return torch.cat([height / 0.6, gauges], dim=1), pos


class Dense(torch.nn.Module):
    """Linear layer, weights uniform in (-bound, bound)."""

    def __init__(self, n_in, n_out):
        super().__init__()
        bound = math.sqrt(6 / n_in)
        self.weight = torch.nn.Parameter((torch.rand(n_out, n_in) - 1) * bound)  # FAULT
        self.weight = torch.nn.Parameter((torch.rand(n_out, n_in) * 2 - 1) * bound)  # REPAIRED
        self.bias = torch.nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight.T + self.bias


class MDN(torch.nn.Module):
    def __init__(self, k=5, width=50):
        super().__init__()
        self.l1, self.l2 = Dense(6, width), Dense(width, width)
        self.out = torch.nn.Linear(width, 3 * k)

    def forward(self, x):
        h = torch.relu(self.l1(x))
        h = torch.relu(self.l2(h))
        logit, mean, log_sigma = self.out(h).chunk(3, dim=1)
        return logit.log_softmax(1), mean, log_sigma.clamp(-4, 2)


def mixture_nll(params, y):
    log_pi, mean, log_sigma = params
    log_normal = -0.5 * ((y - mean) / log_sigma.exp()) ** 2 - log_sigma - 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(log_pi + log_normal, dim=1).mean()


model = MDN()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
x_valid, y_valid = sample(1000)
for it in range(600):
    x, y = sample(128)
    loss = mixture_nll(model(x), y)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    if it % 50 == 0 or it == 599:
        with torch.no_grad():
            print(f"{it:4d}  nll {loss.item():+.3f}  valid {mixture_nll(model(x_valid), y_valid).item():+.3f}")
