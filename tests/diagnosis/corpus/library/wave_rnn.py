"""Tells noisy waves of three frequencies apart with a plain recurrent network; small trainer with callbacks."""
# fault: exploding_gradient

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass
class Config:
    length: int = 36
    hidden: int = 48
    batch: int = 64
    steps: int = 300
    lr: float = 1e-3
    seed: int = 5


class WaveNetlet(nn.Module):
    def __init__(self, cfg: Config) -> None:
        super().__init__()
        self.rnn = nn.RNN(1, cfg.hidden, nonlinearity="relu", batch_first=True)
        self.head = nn.Linear(cfg.hidden, 3)
        self.reset()

    def reset(self) -> None:
        for name, p in self.rnn.named_parameters():
            if "weight_hh" in name:
                nn.init.normal_(p, std=0.35)  # FAULT
                nn.init.orthogonal_(p)  # REPAIRED
            elif "bias" in name:
                nn.init.zeros_(p)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.rnn(x)
        return self.head(states[:, -1])


def waves(n: int, cfg: Config, gen: torch.Generator) -> tuple[Tensor, Tensor]:
    label = torch.randint(0, 3, (n,), generator=gen)
    phase = 2 * math.pi * torch.rand(n, 1, generator=gen)
    t = torch.arange(cfg.length) / cfg.length
    freq = torch.tensor([2.0, 4.0, 7.0])[label][:, None]
    wave = torch.sin(2 * math.pi * freq * t + phase)
    return (wave + 0.2 * torch.randn(wave.shape, generator=gen)).unsqueeze(-1), label


Callback = Callable[["Trainer"], None]


@dataclass
class Trainer:
    model: nn.Module
    cfg: Config
    callbacks: list[Callback] = field(default_factory=list)
    step: int = 0
    loss: float = math.nan

    def fit(self) -> None:
        gen = torch.Generator().manual_seed(self.cfg.seed + 1)
        optimizer = torch.optim.Adam(self.model.parameters(), lr=self.cfg.lr)
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=self.cfg.steps)
        for self.step in range(1, self.cfg.steps + 1):
            x, y = waves(self.cfg.batch, self.cfg, gen)
            loss = nn.functional.cross_entropy(self.model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            self.loss = loss.item()
            for call in self.callbacks:
                call(self)


def report(every: int) -> Callback:
    test_gen = torch.Generator().manual_seed(999)

    def call(trainer: Trainer) -> None:
        if trainer.step == 1 or trainer.step % every == 0:
            x, y = waves(400, trainer.cfg, test_gen)
            with torch.no_grad():
                acc = (trainer.model(x).argmax(1) == y).float().mean().item()
            print(f"step {trainer.step:4d}  loss {trainer.loss:.4g}  test acc {acc:.3f}")

    return call


if __name__ == "__main__":
    config = Config()
    torch.manual_seed(config.seed)
    Trainer(WaveNetlet(config), config, [report(60)]).fit()
