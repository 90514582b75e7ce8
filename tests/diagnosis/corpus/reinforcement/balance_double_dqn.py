"""Double deep Q-learning that balances a stick on a hand; experience lies in ready tensors, the loss is written out."""
# fault: bootstrap_through_end

import copy

import torch
from torch import nn

torch.manual_seed(11)


class Stick:
    """Angle and speed; it falls over beyond 0.4, and is set up again."""

    def __init__(self, count):
        self.x = torch.empty(count, 2)
        self.reset(torch.ones(count, dtype=torch.bool))

    def reset(self, where):
        self.x[where] = 0.1 * (torch.rand(int(where.sum()), 2) - 0.5)

    def step(self, push):
        angle, speed = self.x.unbind(1)
        speed = speed + 0.1 * (2.0 * angle + 0.8 * (push.float() - 0.5) + 0.2 * torch.randn(len(angle)))
        self.x = torch.stack([angle + 0.1 * speed, speed], 1)
        after, fell = self.x.clone(), self.x[:, 0].abs() > 0.4
        self.reset(fell)
        return after, torch.ones(len(fell)) - fell.float(), fell


class Memory:
    def __init__(self, size):
        self.s, self.s2 = torch.zeros(size, 2), torch.zeros(size, 2)
        self.a, self.r, self.end = torch.zeros(size, dtype=torch.long), torch.zeros(size), torch.zeros(size)
        self.filled = 0

    def store(self, s, a, r, s2, end):
        rows = slice(self.filled, self.filled + len(s))
        self.s[rows], self.a[rows], self.r[rows], self.s2[rows], self.end[rows] = s, a, r, s2, end.float()
        self.filled += len(s)

    def draw(self, count):
        i = torch.randint(self.filled, (count,))
        return self.s[i], self.a[i], self.r[i], self.s2[i], self.end[i]


q = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
slow = copy.deepcopy(q).requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=2e-3)
env, memory = Stick(8), Memory(8 * 700)
for t in range(700):
    s = env.x.clone()
    with torch.no_grad():
        a = torch.where(torch.rand(8) < max(0.1, 1 - t / 400), torch.randint(2, (8,)), q(s).argmax(1))
    s2, r, fell = env.step(a)
    memory.store(s, a, r, s2, fell)
    if t < 50:
        continue
    s, a, r, s2, end = memory.draw(64)
    with torch.no_grad():
        best = q(s2).argmax(1, keepdim=True)
        value = slow(s2).gather(1, best).squeeze(1)
        y = r + 0.95 * value  # FAULT
        y = r + 0.95 * (1 - end) * value  # REPAIRED
    loss = (q(s)[torch.arange(64), a] - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for old, new in zip(slow.parameters(), q.parameters()):
            old.lerp_(new, 0.02)
    if t % 100 == 99:
        print(
            f"step {t + 1}: loss {loss.item():.4f}, mean value {value.mean():.3f}, falls {memory.end[: memory.filled].sum():.0f}"
        )
