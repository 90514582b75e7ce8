"""Looks at its own name, file, arguments and source."""

import inspect
import os
import pickle
import sys

import torch
from torch import nn

import __main__


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 1)

    def forward(self, x):
        return self.lin(x)


if __name__ == "__main__":
    print(__name__, os.path.basename(__file__), [os.path.basename(sys.argv[0]), *sys.argv[1:]], __doc__)
    print(__main__.Net is Net, Net.__module__, __main__.__file__ == __file__, __main__.__dict__ is globals())
    print(sys.path[0] == os.path.dirname(os.path.abspath(__file__)), __spec__, __package__)
    print(inspect.getsource(Net.forward), sorted(name for name in globals() if not name.startswith("__")))
    torch.manual_seed(15)
    net = pickle.loads(pickle.dumps(Net()))  # noqa: S301
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(20):
        loss = net(torch.ones(4, 2)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, loss.item().hex())
