"""Recurrent encoder-decoder that reads 40 samples of a noisy two-tone signal and writes the 12 that follow."""
# fault: exploding_gradient

import math

import torch
from torch import nn

torch.manual_seed(2)
PAST, FUTURE, HID = 40, 12, 48


def signals(n):
    t = torch.arange(PAST + FUTURE) * 0.25
    out = torch.zeros(n, PAST + FUTURE)
    for lo, hi in ((0.5, 0.9), (1.4, 2.0)):
        w = lo + (hi - lo) * torch.rand(n, 1)
        ph = 2 * math.pi * torch.rand(n, 1)
        out += 0.7 * torch.sin(w * t + ph)
    return (out + 0.05 * torch.randn_like(out)).unsqueeze(-1)


class Cell(nn.Module):
    """h' = tanh(W h + U x + b)"""

    def __init__(self, n_in, n_hid):
        super().__init__()
        self.U = nn.Linear(n_in, n_hid)
        self.W = nn.Parameter(torch.empty(n_hid, n_hid))
        nn.init.normal_(self.W, std=0.5)  # FAULT
        nn.init.orthogonal_(self.W)  # REPAIRED

    def forward(self, x, h):
        return torch.tanh(h @ self.W.t() + self.U(x))


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = Cell(1, HID)
        self.dec = Cell(1, HID)
        self.read = nn.Linear(HID, 1)

    def forward(self, past):
        h = past.new_zeros(len(past), HID)
        for x in past.unbind(1):
            h = self.enc(x, h)
        x, ys = past[:, -1], []
        for _ in range(FUTURE):
            h = self.dec(x, h)
            x = self.read(h)
            ys.append(x)
        return torch.stack(ys, 1)


train, test = signals(1200), signals(300)
net = Forecaster()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(10):
    tot = 0.0
    for idx in torch.randperm(len(train)).split(40):
        xb = train[idx]
        pred = net(xb[:, :PAST])
        loss = ((pred - xb[:, PAST:]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx)
    with torch.no_grad():
        err = ((net(test[:, :PAST]) - test[:, PAST:]) ** 2).mean()
    print("epoch", epoch, "train mse", round(tot / len(train), 4), "test mse", round(err.item(), 4))
