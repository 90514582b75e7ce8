"""Learns the dynamics of a windy grid world from random play, as a distribution over the next cell."""

# fault: double_log
import logging

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("dynamics")
SIZE = 6
MOVES = np.array([(0, 1), (0, -1), (1, 0), (-1, 0)])


class WindyGrid:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.walls = {(2, 2), (2, 3), (4, 1)}
        self.pos = (0, 0)

    def step(self, a):
        steps = [MOVES[a]]
        if self.pos[0] >= 3 and self.rng.random() < 0.15:
            steps.append(np.array((0, 1)))  # gust
        for d in steps:
            new = tuple(np.clip(np.array(self.pos) + d, 0, SIZE - 1).tolist())
            if new not in self.walls:
                self.pos = new
        return self.pos


class Transitions(Dataset):
    def __init__(self, n, seed):
        env, rng = WindyGrid(seed), np.random.default_rng(seed + 1000)
        rows = []
        for _ in range(n):
            before, a = env.pos, int(rng.integers(4))
            after = env.step(a)
            rows.append((before[0] * SIZE + before[1], a, after[0] * SIZE + after[1]))
        self.rows = torch.tensor(rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class NextCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.action = nn.Embedding(SIZE * SIZE, 24), nn.Embedding(4, 24)
        self.body = nn.Sequential(nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, SIZE * SIZE), nn.LogSoftmax(dim=1))

    def forward(self, cell, action):
        return self.body(torch.cat([self.cell(cell), self.action(action)], dim=1))


if __name__ == "__main__":
    torch.manual_seed(2)
    train, test = Transitions(5000, seed=1), Transitions(1000, seed=2)
    loader = DataLoader(train, batch_size=64, shuffle=True)
    model = NextCell()
    loss_fn = nn.CrossEntropyLoss()  # FAULT
    loss_fn = nn.NLLLoss()  # REPAIRED
    optim = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 5):
        model.train()
        losses = []
        for batch in loader:
            cell, action, nxt = batch.T
            loss = loss_fn(model(cell, action), nxt)
            optim.zero_grad()
            loss.backward()
            optim.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            cell, action, nxt = test.rows.T
            out = model(cell, action)
        acc = (out.argmax(1) == nxt).float().mean().item()
        log.info("epoch %d  train %.3f  test %.3f  top-1 %.3f", epoch, np.mean(losses), loss_fn(out, nxt).item(), acc)
