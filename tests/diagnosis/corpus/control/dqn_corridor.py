"""DQN with a target network and a replay buffer: walk along a slippery corridor, fetch the key, return to the door."""

import copy
import random
from collections import deque

import torch
import torch.nn as nn

random.seed(4)
torch.manual_seed(4)
LENGTH, GAMMA = 8, 0.95


class Corridor:
    def reset(self):
        self.x, self.key, self.t = random.randrange(2, LENGTH - 2), 0.0, 0
        return self.obs()

    def obs(self):
        return [2 * self.x / (LENGTH - 1) - 1, 2 * self.key - 1]

    def step(self, a):
        d = 1 if a == 1 else -1
        if random.random() < 0.1:
            d = -d
        self.x = min(max(self.x + d, 0), LENGTH - 1)
        self.t += 1
        if self.x == LENGTH - 1:
            self.key = 1.0
        won = self.x == 0 and self.key == 1.0
        return self.obs(), float(won), won, self.t >= 40


q = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
q_target = copy.deepcopy(q).requires_grad_(False)
optimizer = torch.optim.Adam(q.parameters(), lr=2e-3)
huber = nn.SmoothL1Loss()
buffer = deque(maxlen=3000)


def act(s, eps):
    if random.random() < eps:
        return random.randrange(2)
    with torch.no_grad():
        return int(q(torch.tensor(s)).argmax())


def learn():
    s, a, r, s2, end = (torch.tensor(c) for c in zip(*random.sample(buffer, 64)))
    with torch.no_grad():
        best = q(s2).argmax(1, keepdim=True)  # double DQN
        goal = r + GAMMA * (1 - end) * q_target(s2).gather(1, best).squeeze(1)
    loss = huber(q(s).gather(1, a[:, None]).squeeze(1), goal)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(q.parameters(), 5.0)
    optimizer.step()
    return loss.item()


env, wins, updates = Corridor(), [], 0
state = env.reset()
for frame in range(3200):
    action = act(state, eps=max(0.05, 1 - frame / 1800))
    nxt, reward, won, late = env.step(action)
    buffer.append((state, action, reward, nxt, float(won)))
    state = nxt
    if won or late:
        wins.append(won)
        state = env.reset()
    if frame >= 400 and frame % 4 == 0:
        loss = learn()
        updates += 1
        if updates % 25 == 0:
            q_target.load_state_dict(q.state_dict())
        if updates % 140 == 0:
            print(f"frame {frame}  td loss {loss:.5f}  wins in the last 30 episodes {sum(wins[-30:])}")

solved = 0
for _ in range(50):
    state, done = env.reset(), False
    while not done:
        state, _, won, late = env.step(act(state, eps=0.0))
        done = won or late
    solved += won
print(f"greedy policy: {solved}/50 episodes solved")
