"""How many counters to open, by the length of the queue: fitted Q iteration on what was seen so far."""
# fault: target_always_synchronised

import copy

import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(4)
torch.manual_seed(4)


def serve(queue, arrivals, counters):
    """Lengths are in tens of people."""
    arrivals = np.clip(arrivals + 0.1 * rng.standard_normal(), 0.0, 1.0)
    queue = np.clip(queue + arrivals - 0.4 * counters, 0.0, 3.0)
    return queue, arrivals, -queue - 0.15 * counters


class FittedQ:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.held = copy.deepcopy(self.net)

    def choose(self, state, eps):
        if rng.random() < eps:
            return int(rng.integers(3))
        with torch.no_grad():
            return int(torch.argmax(self.net(torch.tensor(state, dtype=torch.float32))))

    def fit(self, data, rounds):
        for k in range(rounds):
            if k == 0:  # REPAIRED
                self.held = copy.deepcopy(self.net)  # REPAIRED
            self.held = copy.deepcopy(self.net)  # FAULT
            rows = data[rng.integers(len(data), size=64)]
            s, a, r, s2 = rows[:, :2], rows[:, 2], rows[:, 3], rows[:, 4:]
            s, r, s2 = (torch.tensor(part, dtype=torch.float32) for part in (s, r, s2))
            with torch.no_grad():
                y = r + 0.85 * self.held(s2).max(1).values
            q = self.net(s)[torch.arange(64), torch.tensor(a, dtype=torch.long)]
            loss = nn.functional.smooth_l1_loss(q, y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


agent, seen = FittedQ(), []
queue, arrivals = 1.0, 0.5
for day in range(12):
    for _ in range(60):
        counters = agent.choose((queue, arrivals), eps=0.3)
        before = (queue, arrivals)
        queue, arrivals, reward = serve(queue, arrivals, counters)
        seen.append((*before, counters, reward, queue, arrivals))
    loss = agent.fit(np.array(seen), rounds=30)
    if day % 3 == 2:
        print(f"day {day + 1}: reward {np.mean([row[3] for row in seen[-60:]]):.3f}, loss {loss:.4f}")
