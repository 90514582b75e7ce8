"""Deep Q-learning along a cliff: the shortest way is next to the edge, and whoever falls has lost."""
# fault: bootstrap_through_end

import random
from collections import deque

import torch
import torch.nn as nn

random.seed(3)
torch.manual_seed(3)
ROWS, COLS, GAMMA, BATCH = 3, 6, 0.95, 64
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


def walk(cell, action):
    r = min(max(cell[0] + MOVES[action][0], 0), ROWS - 1)
    c = min(max(cell[1] + MOVES[action][1], 0), COLS - 1)
    if r == ROWS - 1 and 0 < c < COLS - 1:
        return (r, c), -1.0, True
    if (r, c) == (ROWS - 1, COLS - 1):
        return (r, c), 1.0, True
    return (r, c), -0.02, False


def features(cell):
    x = [0.0] * (ROWS * COLS)
    x[cell[0] * COLS + cell[1]] = 1.0
    return x


def network():
    return nn.Sequential(nn.Linear(ROWS * COLS, 64), nn.ReLU(), nn.Linear(64, 4))


online, target = network(), network()
target.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(online.parameters(), lr=2e-3)
memory, cell, falls, wins, loss = deque(maxlen=4000), (ROWS - 1, 0), 0, 0, None
for t in range(1, 2001):
    if random.random() < max(0.2, 1 - t / 1200):
        action = random.randrange(4)
    else:
        with torch.no_grad():
            action = online(torch.tensor(features(cell))).argmax().item()
    after, reward, done = walk(cell, action)
    memory.append((features(cell), action, reward, features(after), float(done)))
    falls, wins = falls + (reward == -1.0), wins + (reward == 1.0)
    cell = (ROWS - 1, 0) if done else after
    if t >= 200 and t % 4 == 0:
        s, a, r, s2, over = (torch.tensor(column) for column in zip(*random.sample(memory, BATCH)))
        with torch.no_grad():
            goal = r + GAMMA * target(s2).max(dim=1).values  # FAULT
            goal = r + GAMMA * target(s2).max(dim=1).values * (1 - over)  # REPAIRED
        loss = nn.functional.smooth_l1_loss(online(s).gather(1, a.unsqueeze(1)).squeeze(1), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if t % 100 == 0:
        target.load_state_dict(online.state_dict())
    if t % 500 == 0:
        print(f"{t} steps  {wins} times at the goal, {falls} times down the cliff, td loss {loss.item():.4f}")
