"""Compiled models and losses, each of them one whole graph."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
backend = sys.argv[1] if len(sys.argv) > 1 else "aot_eager"
x = torch.randn(256, 12)
y = torch.tanh(x @ torch.randn(12, 3))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))

    def forward(self, x):
        return self.body(x)


for chosen in (backend, "eager"):
    net = Net()
    fast = torch.compile(net, backend=chosen, fullgraph=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

    @torch.compile(backend=chosen, fullgraph=True)
    def criterion(prediction, target):
        return nn.functional.mse_loss(prediction, target)

    for step in range(40):
        rows = torch.randint(256, (32,))
        optimizer.zero_grad()
        loss = criterion(fast(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        print(chosen, step, loss.item().hex())
    fast.eval()
    with torch.no_grad():
        print(fast(x).sum().item().hex())
    print(type(fast).__name__, sorted(net.state_dict()))
