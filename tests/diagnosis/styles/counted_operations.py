"""Counts its own operations and floating-point work."""

from collections import Counter

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.counts[str(function)] += 1
        return function(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.counts[getattr(function, "__name__", "?")] += 1
        return function(*args, **(kwargs or {}))


torch.manual_seed(22)
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Dropout(0.1), nn.Linear(12, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)
x, y = torch.randn(20, 6), torch.randint(3, (20,))


def train(steps):
    for _ in range(steps):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item().hex())


with FlopCounterMode(display=False) as flops:
    train(5)
print(flops.get_total_flops())
for mode in (Operations(), Functions()):
    with mode:
        train(12)
    print(sorted(mode.counts.items()))
train(20)
