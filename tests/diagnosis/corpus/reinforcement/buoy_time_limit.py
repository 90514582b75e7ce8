"""A buoy is held at its place in a current, without any end but that of the day; critic and policy on replayed steps."""
# fault: time_limit_as_end

from collections import namedtuple

import numpy as np
import torch
from torch import nn

np.random.seed(21)
torch.manual_seed(21)
Step = namedtuple("Step", "state action reward after done")
DAY, GAMMA = 25, 0.95


class Sea:
    def reset(self):
        self.s, self.hour = np.random.uniform(-1, 1, 2).astype(np.float32), 0
        return self.s

    def step(self, engine):
        x, v = self.s
        v = 0.8 * v + 0.25 * (engine - 1) + 0.1 * np.random.randn()
        self.s, self.hour = np.clip(np.array([x + 0.5 * v, v], np.float32), -2, 2), self.hour + 1
        return self.s, 1.0 - float(abs(self.s[0])), False, self.hour == DAY


def mlp():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))


net, net_slow = mlp(), mlp()
net_slow.load_state_dict(net.state_dict())
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
sea, replay = Sea(), []
s, total, days = sea.reset(), 0.0, []
for t in range(1500):
    if np.random.rand() < max(0.1, 1 - t / 800):
        a = np.random.randint(3)
    else:
        a = net(torch.from_numpy(s)).argmax().item()
    s2, r, terminated, truncated = sea.step(a)
    done = terminated or truncated  # FAULT
    done = terminated  # REPAIRED
    replay.append(Step(s, a, r, s2, done))
    total, s = total + r, s2
    if terminated or truncated:
        days.append(total)
        s, total = sea.reset(), 0.0
    if len(replay) < 200 or t % 2:
        continue
    some = Step(*zip(*[replay[i] for i in np.random.choice(len(replay), 64, replace=False)]))
    states, afters = (torch.from_numpy(np.stack(part)) for part in (some.state, some.after))
    rewards = torch.tensor(some.reward, dtype=torch.float32)
    going_on = 1.0 - torch.tensor(some.done, dtype=torch.float32)
    best = net_slow(afters).max(1)[0].detach()
    wanted = rewards + GAMMA * best * going_on
    got = net(states).gather(1, torch.tensor(some.action).view(-1, 1)).view(-1)
    loss = nn.functional.huber_loss(got, wanted)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 10.0)
    opt.step()
    for slow, fast in zip(net_slow.parameters(), net.parameters()):
        slow.data.copy_(0.98 * slow.data + 0.02 * fast.data)
    if t % 300 == 299:
        print(f"{t + 1}: reward of the last days {np.mean(days[-10:]):.2f}, loss {loss.item():.4f}")
