"""Two-tower model: predicts the stars a guest gives a restaurant from features of both."""
# fault: label_misalignment

import argparse

import numpy as np
import torch
from torch import nn


def tower(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 40), nn.LayerNorm(40), nn.GELU(), nn.Linear(40, n_out))


class TwoTower(nn.Module):
    def __init__(self, d_guest, d_place, d=12):
        super().__init__()
        self.guest = tower(d_guest, d)
        self.place = tower(d_place, d)
        self.scale = nn.Parameter(torch.tensor(0.3))
        self.offset = nn.Parameter(torch.zeros(()))

    def forward(self, g, p):
        return self.scale * (self.guest(g) * self.place(p)).sum(-1) + self.offset


def load_visits(n, rng):
    """Visits come grouped by guest, as they would from an SQL export."""
    guests = rng.normal(size=(200, 9)).astype("float32")
    places = rng.normal(size=(120, 7)).astype("float32")
    who = np.sort(rng.integers(0, 200, n))
    where = rng.integers(0, 120, n)
    mix_g, mix_p = rng.normal(size=(9, 3)) / 3, rng.normal(size=(7, 3)) / 7**0.5
    affinity = (np.tanh(guests @ mix_g)[who] * (places @ mix_p)[where]).sum(1)
    stars = 3.2 + 1.1 * affinity + 0.4 * places[where, 0] + 0.2 * rng.normal(size=n)
    return guests[who], places[where], stars.astype("float32")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--visits", type=int, default=9000)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--bs", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    rng = np.random.default_rng(77)
    torch.manual_seed(77)
    g, p, stars = load_visits(args.visits, rng)
    stars = (stars - stars.mean()) / stars.std()

    # shuffle, because the export is sorted by guest
    order = rng.permutation(len(stars))
    g, p = g[order], p[order]  # FAULT
    g, p, stars = g[order], p[order], stars[order]  # REPAIRED
    g, p, stars = torch.from_numpy(g), torch.from_numpy(p), torch.from_numpy(stars)
    cut = int(0.8 * len(stars))

    model = TwoTower(g.shape[1], p.shape[1])
    opt = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(cut).split(args.bs):
            err = model(g[idx], p[idx]) - stars[idx]
            loss = (err**2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            val = ((model(g[cut:], p[cut:]) - stars[cut:]) ** 2).mean().item()
        print(f"[{epoch + 1}/{args.epochs}] train {total / cut:.4f}   valid {val:.4f}   R2 {1 - val:.3f}")


if __name__ == "__main__":
    main()
