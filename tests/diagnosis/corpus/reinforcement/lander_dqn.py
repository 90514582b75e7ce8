"""A lander comes down on a line and should touch it slowly; Q-learning with a target network and a ring of memories."""
# fault: target_never_synchronised

import random

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

SEED, GAMMA = 2, 0.97
SYNC = 2000  # FAULT
SYNC = 50  # REPAIRED
random.seed(SEED), np.random.seed(SEED), torch.manual_seed(SEED)


class Lander:
    def reset(self):
        self.h, self.v = 1.0 + 0.3 * np.random.rand(), 0.0
        return self.obs()

    def obs(self):
        return np.array([self.h, self.v], dtype=np.float32)

    def step(self, burn):
        self.v += 0.12 * burn - 0.05 + 0.01 * np.random.randn()
        self.h += 0.5 * self.v
        down, away = self.h <= 0, self.h > 2
        reward = (1.0 - 5 * abs(self.v)) if down else -1.0 if away else -0.02
        return self.obs(), reward, down or away


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(2, 64), nn.Linear(64, 64), nn.Linear(64, 2)

    def forward(self, x):
        return self.out(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


policy_net, target_net = QNetwork(), QNetwork()
target_net.load_state_dict(policy_net.state_dict())
target_net.eval()
optimizer = optim.RMSprop(policy_net.parameters(), lr=5e-4)
criterion = nn.SmoothL1Loss()
ring, updates, scores, score = [], 0, [], 0.0
env = Lander()
state = env.reset()
for frame in range(2200):
    if random.random() < max(0.1, 1 - frame / 1500):
        action = random.randint(0, 1)
    else:
        with torch.no_grad():
            action = policy_net(torch.from_numpy(state).unsqueeze(0)).argmax(1).item()
    next_state, reward, done = env.step(action)
    ring.append((state, action, reward, next_state, done))
    state, score = next_state, score + reward
    if done:
        scores.append(score)
        state, score = env.reset(), 0.0
    if len(ring) < 200 or frame % 4:
        continue
    batch = random.sample(ring, 64)
    states = torch.from_numpy(np.array([b[0] for b in batch]))
    actions = torch.tensor([b[1] for b in batch]).unsqueeze(1)
    rewards = torch.tensor([b[2] for b in batch], dtype=torch.float32)
    next_states = torch.from_numpy(np.array([b[3] for b in batch]))
    dones = torch.tensor([b[4] for b in batch], dtype=torch.float32)
    with torch.no_grad():
        next_q = target_net(next_states).max(1)[0]
    expected = rewards + GAMMA * next_q * (1 - dones)
    loss = criterion(policy_net(states).gather(1, actions).squeeze(1), expected)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    updates += 1
    if updates % SYNC == 0:
        target_net.load_state_dict(policy_net.state_dict())
    if updates % 100 == 0:
        print(f"update {updates}: loss {loss.item():.4f}, score {np.mean(scores[-20:]):.3f}")
