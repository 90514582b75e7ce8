"""Optimisers that people write: a class of their own, one that extends Adam, and one that is no Optimizer at all."""

import torch
from torch import nn
from torch.optim import Adam, Optimizer


class SignSGD(Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.add_(p.grad.sign(), alpha=-group["lr"])
                    self.state[p]["count"] = self.state[p].get("count", 0) + 1
        return loss


class Lookahead(Adam):
    def step(self, closure=None):
        out = super().step(closure)
        self.taken = getattr(self, "taken", 0) + 1
        if self.taken % 5 == 0:
            for group in self.param_groups:
                for p in group["params"]:
                    slow = self.state[p].setdefault("slow", p.detach().clone())
                    slow.lerp_(p.detach(), 0.5)
                    p.data.copy_(slow)
        return out


class Plain:
    def __init__(self, params, lr):
        self.params, self.lr = list(params), lr

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    def step(self):
        for p in self.params:
            p.data -= self.lr * p.grad


x = torch.randn(100, 5, generator=torch.Generator().manual_seed(4))
y = (x**2).sum(1, keepdim=True)
for make in (SignSGD, Lookahead, Plain):
    torch.manual_seed(4)
    f = nn.Sequential(nn.Linear(5, 24), nn.SiLU(), nn.Linear(24, 1))
    opt = make(f.parameters(), lr=0.003)
    for i in range(60):
        opt.zero_grad()
        loss = (f(x) - y).abs().mean()
        loss.backward()
        opt.step()
        print(make.__name__, i, loss.item().hex())
    if isinstance(opt, Optimizer):
        print(sorted({key for state in opt.state.values() for key in state}), len(opt.state_dict()["state"]))
