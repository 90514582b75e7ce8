"""Calibrated sensor model: mean and log-variance network, Gaussian likelihood, Monte-Carlo dropout at test time."""

import logging
import math
from dataclasses import dataclass

import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
LOG = logging.getLogger("sensor")


@dataclass
class Params:
    steps: int = 700
    warmup: int = 60
    batch: int = 64
    peak_lr: float = 4e-3
    mc_samples: int = 20
    seed: int = 23


class SensorModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Dropout(0.05), nn.Linear(64, 64), nn.Tanh())
        self.mean = nn.Linear(64, 1)
        self.log_var = nn.Linear(64, 1)
        nn.init.zeros_(self.log_var.weight)
        nn.init.zeros_(self.log_var.bias)

    def forward(self, x):
        h = self.trunk(x)
        return self.mean(h).squeeze(-1), self.log_var(h).squeeze(-1)


def measure(n, gen):
    x = torch.rand(n, 2, generator=gen, dtype=torch.float64) * 4 - 2
    clean = torch.sin(1.5 * x[:, 0]) + 0.4 * x[:, 1]
    sigma = 0.03 + 0.06 * (x[:, 1] + 2)
    return x, clean + sigma * torch.randn(n, generator=gen, dtype=torch.float64), clean


def nll(mu, log_var, y):
    return 0.5 * (log_var + (y - mu) ** 2 / log_var.exp()).mean()


def schedule(step, p):
    if step < p.warmup:
        return (step + 1) / p.warmup
    return 0.5 * (1 + math.cos(math.pi * (step - p.warmup) / (p.steps - p.warmup)))


def run(p):
    torch.manual_seed(p.seed)
    gen = torch.Generator().manual_seed(p.seed)
    x, y, _ = measure(4000, gen)
    x_test, y_test, clean = measure(500, gen)
    model = SensorModel().double()
    opt = torch.optim.Adam(model.parameters(), lr=p.peak_lr)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: schedule(s, p))

    for step in range(p.steps):
        rows = torch.randint(0, len(x), (p.batch,), generator=gen)
        mu, log_var = model(x[rows])
        loss = nll(mu, log_var, y[rows])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        opt.step()
        sched.step()
        if (step + 1) % 100 == 0:
            LOG.info("step %d nll %.4f lr %.1e", step + 1, loss.item(), sched.get_last_lr()[0])

    model.train()  # dropout stays on: the spread of the samples is the model uncertainty
    with torch.no_grad():
        samples = torch.stack([model(x_test)[0] for _ in range(p.mc_samples)])
    rmse = (samples.mean(0) - clean).pow(2).mean().sqrt().item()
    LOG.info("rmse to the clean signal %.4f, mean spread %.4f", rmse, samples.std(0).mean().item())

    model.eval()
    with torch.no_grad():
        mu, log_var = model(x_test)
        inside = ((y_test - mu).abs() < 1.96 * (0.5 * log_var).exp()).double().mean().item()
    LOG.info("test nll %.4f, 95%% interval covers %.3f", nll(mu, log_var, y_test).item(), inside)


if __name__ == "__main__":
    run(Params())
