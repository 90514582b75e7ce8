"""Tabular classifier (five classes, sixteen features) with a dataclass config, EMA weights and a cosine schedule."""
# fault: dropout_too_strong

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn


@dataclass(frozen=True)
class Hyper:
    width: int = 64
    depth: int = 3
    drop: float = 0.9  # FAULT
    drop: float = 0.1  # REPAIRED
    lr: float = 2e-3
    weight_decay: float = 1e-2
    epochs: int = 12
    batch: int = 100
    ema: float = 0.95
    seed: int = 3


class Block(nn.Module):
    def __init__(self, n_in: int, n_out: int, drop: float) -> None:
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.act = nn.SiLU()
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.act(self.linear(x)))


class TabNet(nn.Module):
    def __init__(self, n_in: int, n_classes: int, hp: Hyper) -> None:
        super().__init__()
        sizes = [n_in] + [hp.width] * hp.depth
        self.trunk = nn.Sequential(*(Block(a, b, hp.drop) for a, b in zip(sizes[:-1], sizes[1:])))
        self.head = nn.Linear(hp.width, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.trunk(x))


class Ema:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.shadow = copy.deepcopy(model).requires_grad_(False).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)


class Trainer:
    def __init__(self, hp: Hyper) -> None:
        torch.manual_seed(hp.seed)
        x, y = make_classification(
            5000, 16, n_informative=10, n_redundant=2, n_classes=5, class_sep=1.8, flip_y=0.02, random_state=hp.seed
        )
        x = StandardScaler().fit(x[:4000]).transform(x)
        self.x, self.y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
        self.hp = hp
        self.model = TabNet(16, 5, hp)
        self.ema = Ema(self.model, hp.ema)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=hp.lr, weight_decay=hp.weight_decay)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, hp.epochs * 40, eta_min=1e-5)

    def step(self, idx: Tensor) -> float:
        loss = nn.functional.cross_entropy(self.model(self.x[idx]), self.y[idx])
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 2.0)
        self.opt.step()
        self.sched.step()
        self.ema.update(self.model)
        return loss.item()

    @torch.no_grad()
    def evaluate(self) -> tuple[float, float]:
        logits, y = self.ema.shadow(self.x[4000:]), self.y[4000:]
        return nn.functional.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()

    def fit(self) -> None:
        for epoch in range(self.hp.epochs):
            self.model.train()
            losses = [self.step(idx) for idx in torch.randperm(4000).split(self.hp.batch)]
            val, acc = self.evaluate()
            print(f"[{epoch:02d}] train {sum(losses) / len(losses):.4f} | ema valid {val:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    Trainer(Hyper()).fit()
