"""Quantile forecast (10/50/90 %) of wind power, streamed from an IterableDataset, pinball loss, one-cycle schedule."""

import logging
import sys

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
log = logging.getLogger("wind")
QUANTILES = torch.tensor([0.1, 0.5, 0.9])


class WindStream(IterableDataset):
    """Endless measurements: wind speed, direction, gustiness -> power of a turbine; noise grows with gusts."""

    def __init__(self, seed: int, n_batches: int, batch: int = 128):
        self.seed, self.n_batches, self.batch = seed, n_batches, batch

    def __iter__(self):
        info = get_worker_info()
        gen = torch.Generator().manual_seed(self.seed + (info.id if info else 0))
        for _ in range(self.n_batches // (info.num_workers if info else 1)):
            speed = 12 * torch.rand(self.batch, generator=gen) + 2
            angle = 2 * torch.pi * torch.rand(self.batch, generator=gen)
            gust = torch.rand(self.batch, generator=gen)
            power = 2 * torch.sigmoid(speed - 8) + 0.2 * torch.cos(angle)
            power = power + 0.12 * gust * torch.randn(self.batch, generator=gen)
            x = torch.stack([(speed - 8) / 3.5, torch.sin(angle), torch.cos(angle), (gust - 0.5) / 0.29], dim=1)
            yield x, power


def pinball(q_hat: Tensor, y: Tensor) -> Tensor:
    diff = y[:, None] - q_hat
    return torch.maximum(QUANTILES * diff, (QUANTILES - 1) * diff).sum(dim=1).mean()


class QuantileNet(nn.Module):
    """Gives the median and two non-negative widths, so that quantiles never cross."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 40), nn.ELU(), nn.Linear(40, 40), nn.ELU())
        self.head = nn.Linear(40, 3)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        mid, lo, hi = self.head(self.body(x)).unbind(dim=1)
        return torch.stack([mid - nn.functional.softplus(lo), mid, mid + nn.functional.softplus(hi)], dim=1)


class Trainer:
    def __init__(self, model, steps):
        self.model, self.steps = model, steps
        self.opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.sched = OneCycleLR(self.opt, max_lr=1e-2, total_steps=steps)

    def fit(self, loader):
        self.model.train()
        for i, (x, y) in enumerate(loader):
            loss = pinball(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.sched.step()
            if i % 50 == 0 or i == self.steps - 1:
                log.info("step %d pinball %.4f lr %.2e", i, loss.item(), self.opt.param_groups[0]["lr"])

    @torch.no_grad()
    def coverage(self, loader):
        self.model.eval()
        inside = [((y > q[:, 0]) & (y < q[:, 2])).float().mean() for q, y in ((self.model(x), y) for x, y in loader)]
        return torch.stack(inside).mean().item()


if __name__ == "__main__":
    torch.manual_seed(8)
    trainer = Trainer(QuantileNet(), steps=400)
    trainer.fit(DataLoader(WindStream(1, 400), batch_size=None, num_workers=1))
    covered = trainer.coverage(DataLoader(WindStream(999, 20), batch_size=None))
    log.info("80%% interval covers %.1f%% of unseen measurements", 100 * covered)
    sys.exit(0)
