"""Forecasting experiment of chapter 4: one-step prediction of a forced pendulum, residual MLP."""
# fault: missing_zero_grad

import argparse
import logging
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

log = logging.getLogger("forecaster")


@dataclass
class Config:
    seed: int = 0
    epochs: int = 8
    batch_size: int = 40
    lr: float = 0.1
    width: int = 48


class PendulumDataset(Dataset):
    """State (angle, velocity, torque) to the change of state after 0.2 s."""

    def __init__(self, n=2000, seed=0):
        rng = np.random.default_rng(seed)
        angle, velocity, torque = rng.uniform(-3, 3, n), rng.uniform(-2, 2, n), rng.uniform(-2, 2, n)
        a, v = angle.copy(), velocity.copy()
        for _ in range(20):
            v = v + 0.01 * (-9.81 * np.sin(a) - 0.3 * v + torque)
            a = a + 0.01 * v
        self.x = torch.tensor(np.stack([angle, velocity, torque], 1), dtype=torch.float32)
        self.x = self.x / torch.tensor([1.7, 1.2, 1.2])  # ranges are known by design
        delta = torch.tensor(np.stack([a - angle, v - velocity], 1), dtype=torch.float32)
        self.y = delta / torch.tensor([0.25, 1.3])

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Forecaster(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inp = nn.Linear(3, width)
        self.block = nn.Linear(width, width)
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        h = torch.tanh(self.inp(x))
        h = h + torch.tanh(self.block(h))
        return self.out(h)


class Experiment:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        train, test = random_split(PendulumDataset(seed=cfg.seed), [1600, 400])
        self.train_loader = DataLoader(train, batch_size=cfg.batch_size, shuffle=True)
        self.test_loader = DataLoader(test, batch_size=200)
        self.net = Forecaster(cfg.width)
        self.optim = torch.optim.SGD(self.net.parameters(), lr=cfg.lr)
        self.loss = nn.MSELoss()

    def train_epoch(self):
        self.net.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optim.zero_grad()  # REPAIRED
            loss = self.loss(self.net(x), y)
            loss.backward()
            self.optim.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def test(self):
        self.net.eval()
        return sum(self.loss(self.net(x), y).item() for x, y in self.test_loader) / len(self.test_loader)

    def run(self):
        for epoch in range(1, self.cfg.epochs + 1):
            log.info("epoch %d train %.5f test %.5f", epoch, self.train_epoch(), self.test())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=8)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    Experiment(Config(seed=args.seed, epochs=args.epochs)).run()
