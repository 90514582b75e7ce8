"""Binding energy of a molecule from pairwise interactions of twelve descriptors."""
# fault: underfitting

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    descriptors: int = 12
    hidden: int = 1  # FAULT
    hidden: int = 128  # REPAIRED
    batch_size: int = 128
    epochs: int = 16
    lr: float = 3e-3
    seed: int = 4


cfg = Config()
torch.manual_seed(cfg.seed)


def energy(d):
    e = 1.2 * d[:, 0] * d[:, 1] - d[:, 2] * d[:, 3] + 0.8 * (d[:, 4] ** 2 - 1) - 0.7 * (d[:, 5] ** 2 - 1)
    return e + torch.cos(2 * d[:, 6])


class EnergyModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encode = nn.Linear(cfg.descriptors, cfg.hidden)
        self.mix = nn.Linear(cfg.hidden, cfg.hidden)
        self.readout = nn.Linear(cfg.hidden, 1)

    def forward(self, d):
        h = nn.functional.softplus(self.encode(d))
        h = nn.functional.softplus(self.mix(h))
        return self.readout(h).squeeze(-1)


d_train, d_val = torch.randn(6000, cfg.descriptors), torch.randn(1000, cfg.descriptors)
e_train = energy(d_train) + 0.05 * torch.randn(6000)
e_val = energy(d_val)
spread = e_train.std()
print(f"energy spread: {spread:.3f}")

f = EnergyModel(cfg)
opt = torch.optim.NAdam(f.parameters(), lr=cfg.lr)
for epoch in range(cfg.epochs):
    f.train()
    train_loss = 0.0
    for ids in torch.randperm(6000).split(cfg.batch_size):
        loss = nn.functional.mse_loss(f(d_train[ids]), e_train[ids] / spread)
        opt.zero_grad()
        loss.backward()
        opt.step()
        train_loss += loss.item() * len(ids) / 6000
    f.eval()
    with torch.no_grad():
        val_rmse = (f(d_val) * spread - e_val).square().mean().sqrt()
    print(f"{epoch:2d} | train mse {train_loss:.4f} | val rmse {val_rmse:.4f}")
