"""Learns which arm of a two-armed spiral a point lies on; typed code with hooks, one-cycle schedule and clipping."""
# fault: missing_activation

from __future__ import annotations

import math
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Hook(Protocol):
    def on_epoch(self, epoch: int, metrics: dict[str, float]) -> None: ...


class PrintHook:
    def __init__(self, every: int = 2) -> None:
        self.every = every

    def on_epoch(self, epoch: int, metrics: dict[str, float]) -> None:
        if (epoch + 1) % self.every == 0:
            print(f"epoch {epoch + 1:3d} " + " ".join(f"{k}={v:.4f}" for k, v in metrics.items()))


class BestHook:
    best: float = 0.0

    def on_epoch(self, epoch: int, metrics: dict[str, float]) -> None:
        self.best = max(self.best, metrics["acc"])


class FieldNet(nn.Module):
    """Coordinates in, one logit out."""

    def __init__(self, width: int = 64, depth: int = 4) -> None:
        super().__init__()
        dims = [2] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(i, o) for i, o in zip(dims, dims[1:]))
        self.readout = nn.Linear(width, 1)

    def forward(self, xy: Tensor) -> Tensor:
        h = xy
        for layer in self.hidden:
            h = layer(h)  # FAULT
            h = F.mish(layer(h))  # REPAIRED
        return self.readout(h).squeeze(-1)


def spiral(n: int, gen: torch.Generator) -> tuple[Tensor, Tensor]:
    arm = torch.randint(0, 2, (n,), generator=gen)
    r = 0.3 + 1.7 * torch.rand(n, generator=gen)
    angle = 5.0 * r + math.pi * arm
    xy = torch.stack([r * angle.cos(), r * angle.sin()], dim=1)
    return xy + 0.09 * torch.randn(n, 2, generator=gen), arm.float()


def fit(model: nn.Module, hooks: list[Hook], epochs: int = 14, batch: int = 64, max_lr: float = 4e-3) -> None:
    gen = torch.Generator().manual_seed(77)
    x, y = spiral(2048, gen)
    x_val, y_val = spiral(500, gen)
    optimizer = torch.optim.NAdam(model.parameters(), lr=max_lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr, total_steps=epochs * (len(x) // batch))
    for epoch in range(epochs):
        running = 0.0
        for idx in torch.randperm(len(x), generator=gen).view(-1, batch):
            loss = F.binary_cross_entropy_with_logits(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            running += loss.item() * batch / len(x)
        with torch.no_grad():
            logit = model(x_val)
            val = F.binary_cross_entropy_with_logits(logit, y_val).item()
            acc = ((logit > 0) == (y_val > 0.5)).float().mean().item()
        for hook in hooks:
            hook.on_epoch(epoch, {"train": running, "valid": val, "acc": acc})


def main() -> None:
    torch.manual_seed(77)
    best = BestHook()
    fit(FieldNet(), [PrintHook(), best])
    print(f"best accuracy {best.best:.3f}")


if __name__ == "__main__":
    main()
