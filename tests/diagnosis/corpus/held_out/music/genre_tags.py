"""Guess the dance (waltz, march, tango, samba) of a short rhythm given as a sequence of duration tokens."""

# fault: weight_decay_too_strong
import logging

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("dances")

SIXTEENTH, EIGHTH, DOTTED, QUARTER, HALF, REST = range(6)
PATTERNS = [
    [QUARTER, QUARTER, QUARTER, HALF, QUARTER, REST],
    [QUARTER, EIGHTH, EIGHTH, QUARTER, QUARTER, REST],
    [DOTTED, SIXTEENTH, EIGHTH, EIGHTH, QUARTER, REST],
    [SIXTEENTH, EIGHTH, SIXTEENTH, EIGHTH, EIGHTH, SIXTEENTH],
]


def sample(n, gen):
    label = torch.randint(0, 4, (n,), generator=gen)
    base = torch.tensor(PATTERNS)[label].repeat(1, 4)
    shift = torch.randint(0, 6, (n, 1), generator=gen)
    base = base.gather(1, (torch.arange(18) + shift) % 24)
    noise = torch.rand(base.shape, generator=gen) < 0.3
    return torch.where(noise, torch.randint(0, 6, base.shape, generator=gen), base), label


class DanceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(6, 12)
        self.conv1 = nn.Conv1d(12, 32, 3)
        self.conv2 = nn.Conv1d(32, 32, 3)
        self.head = nn.Linear(32, 4)

    def forward(self, s):
        h = self.tok(s).transpose(1, 2)
        h = torch.tanh(self.conv1(h))
        h = torch.tanh(self.conv2(h))
        return torch.log_softmax(self.head(h.mean(-1)), dim=-1)


class Trainer:
    def __init__(self, seed=17):
        gen = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        self.x, self.y = sample(3000, gen)
        self.xt, self.yt = sample(600, gen)
        self.model = DanceNet()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=10.0)  # FAULT
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=0.01)  # REPAIRED

    def step(self, rows):
        log_p = self.model(self.x[rows])
        onehot = torch.eye(4)[self.y[rows]]
        loss = -(onehot * log_p).sum(1).mean()
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def test(self):
        self.model.eval()
        hit = (self.model(self.xt).argmax(1) == self.yt).float().mean().item()
        self.model.train()
        return hit

    def fit(self, epochs=12, bs=100):
        for e in range(epochs):
            losses = [self.step(rows) for rows in torch.randperm(len(self.x)).split(bs)]
            log.info("epoch %d loss %.4f test accuracy %.3f", e, sum(losses) / len(losses), self.test())


Trainer().fit()
