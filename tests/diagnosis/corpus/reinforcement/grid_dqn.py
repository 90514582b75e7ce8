"""Deep Q-learning on a 5x5 grid with a pit where every move costs a little; Q values start near the usual cost."""
# fault: dead_relu

import copy
import random
from collections import deque

import numpy as np
import torch
from torch import nn

random.seed(1)
np.random.seed(1)
torch.manual_seed(1)

N, GOAL, PIT = 5, (4, 4), (2, 2)
MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]


def step(cell, action):
    nxt = (min(max(cell[0] + MOVES[action][0], 0), N - 1), min(max(cell[1] + MOVES[action][1], 0), N - 1))
    if nxt == GOAL:
        return nxt, 0.0, True
    if nxt == PIT:
        return nxt, -1.0, True
    return nxt, -0.1, False


def encode(cell):
    one_hot = [0.0] * (N * N)
    one_hot[cell[0] * N + cell[1]] = 1.0
    return one_hot


def random_start():
    while True:
        cell = (random.randrange(N), random.randrange(N))
        if cell not in (GOAL, PIT):
            return cell


def build_q():
    net = nn.Sequential(nn.Linear(N * N, 96), nn.ReLU(), nn.Linear(96, 4))
    layers = [m for m in net if isinstance(m, nn.Linear)]  # FAULT
    layers = [net[-1]]  # REPAIRED
    for layer in layers:
        nn.init.constant_(layer.bias, -0.5)
    return net


def evaluate(q):
    total = 0.0
    starts = [(i, j) for i in range(N) for j in range(N) if (i, j) not in (GOAL, PIT)]
    for cell in starts:
        for _ in range(20):
            with torch.no_grad():
                a = q(torch.tensor(encode(cell))).argmax().item()
            cell, r, done = step(cell, a)
            total += r
            if done:
                break
    return total / len(starts)


q = build_q()
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
huber = nn.SmoothL1Loss()
memory = deque(maxlen=3000)

cell = random_start()
age = 0
for t in range(1, 2401):
    eps = max(0.1, 1.0 - t / 1200)
    if random.random() < eps:
        a = random.randrange(4)
    else:
        with torch.no_grad():
            a = int(q(torch.tensor(encode(cell))).argmax())
    nxt, r, done = step(cell, a)
    memory.append((encode(cell), a, r, encode(nxt), float(done)))
    age += 1
    cell = nxt
    if done or age > 25:
        cell, age = random_start(), 0

    if t >= 200 and t % 3 == 0:
        s, act, rew, s2, d = map(torch.tensor, zip(*random.sample(memory, 64)))
        with torch.no_grad():
            goal = rew + 0.95 * (1 - d) * target(s2).max(1).values
        pred = q(s).gather(1, act[:, None]).squeeze(1)
        loss = huber(pred, goal)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if t % 60 == 0:
        target.load_state_dict(q.state_dict())
    if t % 400 == 0:
        print(f"step {t} td loss {loss.item():.4f} greedy return {evaluate(q):.3f}")
