"""Q-learning with a small network in a maze; episodes are cut off after a while so that nobody waits for the lost."""
# fault: time_limit_as_end

import copy
import random

import torch
import torch.nn as nn

random.seed(8)
torch.manual_seed(8)
MAZE = ["S.#..", "..#.#", ".....", "#.#.G"]
FREE = [(r, c) for r, line in enumerate(MAZE) for c, mark in enumerate(line) if mark != "#"]
GOAL, LIMIT, GAMMA = (3, 4), 12, 0.9


class Maze:
    def reset(self):
        self.at, self.t = random.choice([cell for cell in FREE if cell != GOAL]), 0
        return FREE.index(self.at)

    def step(self, move):
        dr, dc = ((0, 1), (1, 0), (0, -1), (-1, 0))[move]
        after = (self.at[0] + dr, self.at[1] + dc)
        self.at, self.t = after if after in FREE else self.at, self.t + 1
        found = self.at == GOAL
        return FREE.index(self.at), float(found), found, self.t >= LIMIT and not found


eye = torch.eye(len(FREE))
q = nn.Sequential(nn.Linear(len(FREE), 64), nn.Tanh(), nn.Linear(64, 4))
q_old = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=3e-3)
env, buffer, found = Maze(), [], []
state = env.reset()
for t in range(2400):
    eps = max(0.15, 1 - t / 1600)
    with torch.no_grad():
        action = random.randrange(4) if random.random() < eps else int(q(eye[state]).argmax())
    after, reward, end, late = env.step(action)
    buffer.append((state, action, reward, after, end or late))  # FAULT
    buffer.append((state, action, reward, after, end))  # REPAIRED
    state = after
    if end or late:
        found.append(end)
        state = env.reset()
    if t < 200 or t % 4:
        continue
    s, a, r, s2, done = map(torch.tensor, zip(*random.sample(buffer[-2000:], 64)))
    with torch.no_grad():
        y = r + GAMMA * q_old(eye[s2]).amax(1) * (~done)
    error = q(eye[s]).gather(1, a[:, None])[:, 0] - y
    loss = (error**2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if t % 80 == 0:
        q_old.load_state_dict(q.state_dict())
    if t % 600 == 0:
        print(f"{t} steps, loss {loss.item():.5f}, found in {sum(found[-20:])} of the last 20 episodes")
