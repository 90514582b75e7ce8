"""Catches warnings and errors, and shows what they say."""

import warnings

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(17)
net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x, y = torch.randn(30, 4), torch.randn(30)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for step in range(25):
        loss = F.mse_loss(net(x), y[:, None])
        opt.zero_grad()
        loss.backward()
        opt.step()
        warnings.warn(f"step {step}", stacklevel=1)
        print(step, loss.item().hex())
    F.mse_loss(net(x), y)
    torch.optim.lr_scheduler.StepLR(torch.optim.SGD(net.parameters(), lr=0.1), 1).step()
print(len(caught), [str(w.message)[:60] for w in caught[-2:]], [w.lineno for w in caught[:3]])
with warnings.catch_warnings():
    warnings.simplefilter("error")
    try:
        F.mse_loss(net(x), y)
    except UserWarning as warning:
        print(type(warning).__name__, str(warning)[:80])


def attempt(function):
    try:
        function()
    except Exception as error:
        print(type(error).__name__, error)


loss = net(x).mean()
loss.backward()
attempt(loss.backward)
attempt(lambda: net(torch.ones(2, 3)))
attempt(lambda: F.cross_entropy())
attempt(lambda: F.cross_entropy(net(x), torch.full((30,), 3)))
attempt(lambda: net(x).backward())
attempt(lambda: torch.ones(3).sum().backward())
attempt(lambda: opt.step(1, 2, 3))
attempt(lambda: opt.zero_grad(nonsense=True))
attempt(lambda: torch.optim.SGD([], lr=0.1))
attempt(lambda: nn.utils.clip_grad_norm_(net.parameters()))
