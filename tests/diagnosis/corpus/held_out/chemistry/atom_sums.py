"""Small atom-wise network that predicts a molecular energy as a sum over atoms after two rounds of messages."""
# fault: optimizer_missing_params

import itertools
import time

import torch
from torch import nn

SELF = torch.tensor([0.0, -0.5, 0.3, 0.8, -0.2])  # index 0 is padding
CHARGE = torch.tensor([0.0, 1.0, -1.0, 0.5, -0.7])


def make_molecules(n, max_atoms=9):
    kinds = torch.randint(1, 5, (n, max_atoms))
    counts = torch.randint(5, max_atoms + 1, (n, 1))
    kinds = kinds.masked_fill(torch.arange(max_atoms) >= counts, 0)
    xyz = torch.rand(n, max_atoms, 3) * 3.0
    near = torch.exp(-torch.cdist(xyz, xyz))
    near = near * (1 - torch.eye(max_atoms))
    real = (kinds > 0).float()
    near = near * real[:, :, None] * real[:, None, :]
    q = CHARGE[kinds]
    energy = SELF[kinds].sum(1) + (q[:, :, None] * q[:, None, :] * near).sum((1, 2))
    return kinds, near, energy


class Messages(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.source = nn.Linear(width, width)
        self.update = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, h, near):
        incoming = near @ self.source(h)
        return h + self.update(torch.cat([h, incoming], -1))


torch.manual_seed(14)
kinds, near, energy = make_molecules(2400)
energy = (energy - energy[:2000].mean()) / energy[:2000].std()

width = 24
embed = nn.Embedding(5, width, padding_idx=0)
interactions = nn.ModuleList([Messages(width), Messages(width)])
readout = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))


def predict(z, adjacency):
    h = embed(z)
    for layer in interactions:
        h = layer(h, adjacency)
    per_atom = readout(h).squeeze(-1) * (z > 0)
    return per_atom.sum(1)


params = itertools.chain(embed.parameters(), readout.parameters())  # FAULT
params = itertools.chain(embed.parameters(), interactions.parameters(), readout.parameters())  # REPAIRED
opt = torch.optim.Adam(params, lr=2e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=8, gamma=0.4)
began = time.time()
for epoch in range(20):
    total = 0.0
    for rows in torch.randperm(2000).split(100):
        loss = nn.functional.mse_loss(predict(kinds[rows], near[rows]), energy[rows])
        for module in (embed, interactions, readout):
            module.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(rows)
    sched.step()
    if epoch % 4 == 3:
        with torch.no_grad():
            mae = (predict(kinds[2000:], near[2000:]) - energy[2000:]).abs().mean()
        print(f"epoch {epoch + 1}: train mse {total / 2000:.4f}, held-out mae {mae.item():.4f}")
print(f"took {time.time() - began:.1f}s")
