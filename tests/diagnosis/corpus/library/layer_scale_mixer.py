"""Residual mixer with layer scale, stochastic depth and a zero-initialised head on the 8x8 digits."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

MODELS: dict[str, type[nn.Module]] = {}


def register(cls: type[nn.Module]) -> type[nn.Module]:
    MODELS[cls.__name__.lower()] = cls
    return cls


class ScaledResidual(nn.Module):
    """x + gamma * f(norm(x)), the branch skipped now and then while training."""

    def __init__(self, dim: int, hidden: int, gamma: float, skip: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fn = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))
        self.gamma = nn.Parameter(torch.full((dim,), gamma))
        self.skip = skip

    def forward(self, x: Tensor) -> Tensor:
        branch = self.gamma * self.fn(self.norm(x))
        if self.training and self.skip > 0:
            keep = torch.rand(x.shape[0], 1, 1) >= self.skip
            branch = branch * keep / (1 - self.skip)
        return x + branch


@register
class Mixer(nn.Module):
    def __init__(self, classes: int, dim: int = 32, depth: int = 2, gamma: float = 0.2) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, dim, 2, stride=2)  # 16 patches
        self.place = nn.Parameter(torch.zeros(1, 16, dim))
        self.tokens = nn.ModuleList(ScaledResidual(16, 32, gamma, 0.05) for _ in range(depth))
        self.channels = nn.ModuleList(ScaledResidual(dim, 2 * dim, gamma, 0.05) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor) -> Tensor:
        h = self.patch(x).flatten(2).transpose(1, 2) + self.place
        for mix, channel in zip(self.tokens, self.channels):
            h = channel(mix(h.transpose(1, 2)).transpose(1, 2))
        return self.head(self.norm(h).mean(1))


@dataclass
class Recipe:
    model: str = "mixer"
    epochs: int = 7
    lr: float = 1e-2
    seed: int = 6


class Meter:
    def __init__(self) -> None:
        self.sums: dict[str, list[float]] = defaultdict(list)

    def add(self, **values: float) -> None:
        for key, value in values.items():
            self.sums[key].append(value)

    def __str__(self) -> str:
        return "  ".join(f"{k} {sum(v) / len(v):.4f}" for k, v in self.sums.items())


def param_groups(model: nn.Module) -> list[dict]:
    flat = [p for p in model.parameters() if p.ndim < 2]
    return [
        {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": 0.02},
        {"params": flat, "weight_decay": 0.0},
    ]


def main(recipe: Recipe) -> None:
    torch.manual_seed(recipe.seed)
    raw = load_digits()
    x = (torch.tensor(raw.images, dtype=torch.float32).unsqueeze(1) - 4.9) / 6.0
    y = torch.tensor(raw.target)
    order = torch.randperm(len(x))
    tr, va = order[:1440], order[1440:]
    loader = DataLoader(TensorDataset(x[tr], y[tr]), batch_size=48, shuffle=True, drop_last=True)
    model = MODELS[recipe.model](classes=10)
    opt = torch.optim.AdamW(param_groups(model), lr=recipe.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(
        opt, recipe.lr, recipe.epochs * len(loader), pct_start=0.15, div_factor=4
    )
    for epoch in range(recipe.epochs):
        meter = Meter()
        model.train()
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(model(xb), yb, label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            meter.add(loss=loss.item())
        model.eval()
        with torch.no_grad():
            out = model(x[va])
        meter.add(
            valid=nn.functional.cross_entropy(out, y[va]).item(), acc=(out.argmax(1) == y[va]).float().mean().item()
        )
        print(f"epoch {epoch}  {meter}")


if __name__ == "__main__":
    main(Recipe())
