"""A model traced before its training, once by values and once by symbols, and a scripted one."""

import warnings

import torch
from torch import nn

warnings.simplefilter("ignore", DeprecationWarning)
torch.manual_seed(27)
x = torch.randn(32, 4)
y = (x[:, 0] * x[:, 1] > 0).long()
for trace in (lambda net: torch.jit.trace(net, x), torch.fx.symbolic_trace, torch.jit.script):
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    traced = trace(net)
    print(str(traced.graph).count("\n"))
    opt = torch.optim.SGD(traced.parameters(), lr=0.2)
    for step in range(30):
        loss = nn.functional.cross_entropy(traced(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print("traced", step, loss.item().hex())
exported = torch.export.export(net, (x,))
print(len(list(exported.graph.nodes)), exported.module()(x).sum().item().hex())
