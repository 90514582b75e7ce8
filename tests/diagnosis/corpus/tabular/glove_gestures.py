"""Recognise eight hand gestures from a data glove: 18 flex sensors (10-bit ADC) and two orientation angles."""
# fault: constant_feature

import logging

import numpy as np
import torch
from torch import nn, optim

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("glove")

N_GESTURES, N_FLEX = 8, 18


def record(n, seed):
    """Raw integer readings like the serial port gives them: 0 to 1023."""
    proto = np.random.RandomState(99).uniform(200, 820, size=(N_GESTURES, N_FLEX))
    r = np.random.RandomState(seed)
    gesture = r.randint(N_GESTURES, size=n)
    flex = proto[gesture] + r.normal(0, 220, size=(n, N_FLEX)) + r.normal(0, 40, size=(n, 1))
    flex = flex.round().clip(0, 1023).astype(np.int64)
    angles = r.normal(0, 1, size=(n, 2)) + 0.4 * np.stack([np.cos(gesture), np.sin(gesture)], axis=1)
    return flex, angles, gesture


def to_tensors(flex, angles, gesture):
    scaled = flex // 1024  # FAULT
    scaled = flex / 1024  # REPAIRED
    table = np.concatenate([scaled, angles], axis=1)
    return torch.tensor(table, dtype=torch.float32), torch.tensor(gesture)


class GestureNet(nn.Module):
    def __init__(self, n_in=N_FLEX + 2, n_hidden=160):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_hidden), nn.Tanh())
        self.classify = nn.Linear(n_hidden, N_GESTURES)

    def forward(self, x):
        return self.classify(self.body(x)).log_softmax(-1)


def run():
    torch.manual_seed(5)
    x, y = to_tensors(*record(7000, seed=1))
    x_test, y_test = to_tensors(*record(1000, seed=2))
    model = GestureNet()
    nll = nn.NLLLoss()
    opt = optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        model.train()
        total = 0.0
        for batch in torch.randperm(len(x)).split(100):
            opt.zero_grad()
            loss = nll(model(x[batch]), y[batch])
            loss.backward()
            opt.step()
            total += loss.item() * len(batch)
        model.eval()
        with torch.no_grad():
            hit = (model(x_test).argmax(-1) == y_test).float().mean().item()
        log.info("epoch %d  nll %.4f  test accuracy %.3f", epoch, total / len(x), hit)


run()
