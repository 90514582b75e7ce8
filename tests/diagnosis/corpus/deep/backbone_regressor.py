"""Backbone plus regression head on a nonlinear function of sixteen inputs, options on the command line."""
# fault: frozen_params

import argparse
import random

import numpy as np
import torch
from torch import nn


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=100)
    p.add_argument("--freeze-backbone", action="store_true", default=True)  # FAULT
    p.add_argument("--freeze-backbone", action="store_true")  # REPAIRED
    p.add_argument("--seed", type=int, default=7)
    return p.parse_args()


def friedman_like(n, rng):
    x = rng.normal(size=(n, 16)).astype(np.float32)
    y = np.tanh(x[:, 0] * x[:, 1]) + np.sin(x[:, 2]) + 0.7 * x[:, 3] * (x[:, 4] > 0) + 0.5 * np.abs(x[:, 5])
    y = y + 0.1 * rng.normal(size=n)
    return torch.from_numpy(x), torch.from_numpy(y.astype(np.float32)).unsqueeze(1)


class Backbone(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.stem = nn.Linear(d_in, 96)
        self.norm = nn.LayerNorm(96)
        self.proj = nn.Linear(96, d_out)

    def forward(self, x):
        return torch.relu(self.proj(torch.relu(self.norm(self.stem(x)))))


class Regressor(nn.Module):
    def __init__(self, freeze_backbone):
        super().__init__()
        self.backbone = Backbone(16, 8)
        self.head = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
        if freeze_backbone:
            for param in self.backbone.parameters():
                param.requires_grad = False

    def forward(self, x):
        return self.head(self.backbone(x))


def main():
    args = get_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    x_tr, y_tr = friedman_like(8000, rng)
    x_te, y_te = friedman_like(1000, rng)
    mu, sd = y_tr.mean(), y_tr.std()
    y_tr, y_te = (y_tr - mu) / sd, (y_te - mu) / sd

    model = Regressor(args.freeze_backbone)
    optimizer = torch.optim.Adam(filter(lambda q: q.requires_grad, model.parameters()), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    for epoch in range(args.epochs):
        model.train()
        running = []
        for idx in torch.randperm(len(x_tr)).split(args.batch_size):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x_tr[idx]), y_tr[idx])
            loss.backward()
            optimizer.step()
            running.append(loss.item())
        sched.step()
        if epoch % 2 == 1:
            model.eval()
            with torch.no_grad():
                r2 = 1 - nn.functional.mse_loss(model(x_te), y_te) / y_te.var()
            print(f"epoch {epoch + 1} mse {np.mean(running):.4f} test R2 {r2.item():.3f}")


if __name__ == "__main__":
    main()
