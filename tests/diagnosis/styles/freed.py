"""Tries many models in turn, and looks whether each is gone when it should be."""

import gc
import weakref

import torch
from torch import nn

torch.manual_seed(25)
gone = []
for width in (8, 16, 32, 64):
    net = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(25):
        x = torch.randn(32, 3)
        loss = (net(x) - x.amax(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(width, loss.item().hex())
    seen = [weakref.ref(net), weakref.ref(opt), weakref.ref(net[0].weight), weakref.ref(x)]
    del net, opt, loss, x
    gc.collect()
    gone.append([reference() is None for reference in seen])
print(gone)
