"""Message passing on small random molecules, regressing their formation energy."""
# fault: broken_graph

import argparse
import random

import numpy as np
import torch
from torch import nn

ATOMS = 7


def random_molecule(rng, table):
    n = int(rng.integers(6, 13))
    kinds = rng.integers(0, ATOMS, n)
    bonds = [(i, int(rng.integers(0, i))) for i in range(1, n)]
    for _ in range(int(rng.integers(0, 4))):
        a, b = rng.choice(n, 2, replace=False)
        bonds.append((int(a), int(b)))
    energy = sum(table[kinds[a], kinds[b]] for a, b in bonds)
    return kinds, np.array(bonds), energy


def collate(mols):
    kinds, src, dst, ends, shift = [], [], [], [], 0
    for k, b, _ in mols:
        kinds.append(k)
        src += [b[:, 0] + shift, b[:, 1] + shift]
        dst += [b[:, 1] + shift, b[:, 0] + shift]
        shift += len(k)
        ends.append(shift)
    e = torch.tensor([m[2] for m in mols], dtype=torch.float32)
    return (
        torch.from_numpy(np.concatenate(kinds)),
        torch.from_numpy(np.stack(list(map(np.concatenate, (src, dst))))),
        ends[:-1],
        e,
    )


class MPNN(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(ATOMS, dim)
        self.message = nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.update = nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def forward(self, kinds, edges, ends):
        h = self.embed(kinds)
        msg = self.message(torch.cat([h[edges[0]], h[edges[1]]], dim=1))
        agg = torch.zeros_like(h).index_add(0, edges[1], msg)
        h = h + self.update(torch.cat([h, agg], dim=1))
        # one vector per molecule
        pooled = torch.as_tensor(np.stack([p.sum(0) for p in np.split(h.detach().numpy(), ends)]))  # FAULT
        pooled = torch.stack([p.sum(0) for p in torch.tensor_split(h, ends)])  # REPAIRED
        return self.readout(pooled / 4).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=3)
    ap.add_argument("--epochs", type=int, default=14)
    ap.add_argument("--dim", type=int, default=24)
    args = ap.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    table = rng.normal(size=(ATOMS, ATOMS))
    table = (table + table.T) / 2
    mols = [random_molecule(rng, table) for _ in range(1000)]
    mu, sd = np.mean([m[2] for m in mols[:800]]), np.std([m[2] for m in mols[:800]])
    mols = [(k, b, (e - mu) / sd) for k, b, e in mols]
    train, val = mols[:800], mols[800:]

    model = MPNN(args.dim)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        random.shuffle(train)
        total = 0.0
        for i in range(0, len(train), 32):
            kinds, edges, ends, e = collate(train[i : i + 32])
            loss = nn.functional.mse_loss(model(kinds, edges, ends), e)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(e)
        with torch.no_grad():
            kinds, edges, ends, e = collate(val)
            mae = (model(kinds, edges, ends) - e).abs().mean()
        print(f"[{epoch + 1:2d}/{args.epochs}] train mse {total / len(train):.4f} | val mae {mae:.4f}")


if __name__ == "__main__":
    main()
