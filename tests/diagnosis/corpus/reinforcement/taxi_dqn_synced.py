"""A taxi on a ring road waits or drives on; the number of passengers in view is all it knows. Q-learning, replayed."""
# fault: target_always_synchronised

import random
from collections import deque

import torch
import torch.nn as nn

random.seed(12)
torch.manual_seed(12)
PLACES, GAMMA, EVERY = 8, 0.9, 60


class Ring:
    def reset(self):
        self.place, self.waiting = 0, [random.random() for _ in range(PLACES)]
        return self.obs()

    def obs(self):
        ahead = [self.waiting[(self.place + k) % PLACES] for k in range(4)]
        return torch.tensor(ahead)

    def step(self, drive):
        reward = 0.0
        if drive:
            self.place = (self.place + 1) % PLACES
            reward -= 0.1
        else:
            reward += self.waiting[self.place]
            self.waiting[self.place] = 0.0
        self.waiting = [min(1.0, w + 0.1 * random.random()) for w in self.waiting]
        return self.obs(), reward


def build():
    return nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))


q, q_hat = build(), build()
q_hat.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
memory, ring, earned = deque(maxlen=2000), Ring(), []
s = ring.reset()
for t in range(1, 1601):
    drive = random.randrange(2) if random.random() < max(0.1, 1 - t / 900) else int(q(s).argmax())
    s2, r = ring.step(drive)
    memory.append((s, drive, r, s2))
    earned.append(r)
    s = s2
    if t > 100 and t % 3 == 0:
        states, moves, rewards, afters = zip(*random.sample(memory, 32))
        states, afters = torch.stack(states), torch.stack(afters)
        moves, rewards = torch.tensor(moves), torch.tensor(rewards)
        with torch.no_grad():
            y = rewards + GAMMA * q_hat(afters).max(1).values
        loss = nn.functional.mse_loss(q(states).gather(1, moves[:, None]).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        q_hat.load_state_dict(q.state_dict())  # FAULT
    if t % EVERY == 0:  # REPAIRED
        q_hat.load_state_dict(q.state_dict())  # REPAIRED
    if t % 400 == 0:
        print(f"{t}  earned a step {sum(earned[-200:]) / 200:.3f}  loss {loss.item():.4f}")
