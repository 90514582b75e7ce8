"""Leaky-integrator units with learned time constants read sixteen long sensor streams and estimate a hidden load."""

# fault: graph_growth
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
rng = np.random.default_rng(3)

STREAMS, CHANNELS, LENGTH, CHUNK = 16, 6, 1300, 10
signal = rng.normal(size=(LENGTH, STREAMS, CHANNELS))
slow = np.zeros((STREAMS, CHANNELS))
fast = np.zeros((STREAMS, CHANNELS))
load = np.zeros((LENGTH, STREAMS))
for t in range(LENGTH):
    slow = 0.95 * slow + 0.05 * signal[t]
    fast = 0.6 * fast + 0.4 * signal[t]
    load[t] = 4.0 * slow[:, :3].sum(axis=1) + fast[:, 3] - fast[:, 4]
load += 0.05 * rng.normal(size=load.shape)
train_end = 1000
load = (load - load[:train_end].mean()) / load[:train_end].std()
signal = torch.tensor(signal, dtype=torch.float32)
load = torch.tensor(load, dtype=torch.float32)


class LeakyNet(nn.Module):
    def __init__(self, n_in, n_units):
        super().__init__()
        self.inp = nn.Linear(n_in, n_units)
        self.decay = nn.Parameter(torch.linspace(0.0, 3.5, n_units))
        self.readout = nn.Sequential(nn.Linear(n_units, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, x, state):
        keep = torch.sigmoid(self.decay)
        drive = torch.tanh(self.inp(x))
        outs = []
        for d in drive:
            state = keep * state + (1 - keep) * d
            outs.append(state)
        return self.readout(4 * torch.stack(outs)).squeeze(-1), state


net = LeakyNet(CHANNELS, 128)
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
state = torch.zeros(STREAMS, 128)
losses, tic = [], time.time()
for step, start in enumerate(range(0, train_end, CHUNK)):
    x, y = signal[start : start + CHUNK], load[start : start + CHUNK]
    optimizer.zero_grad()
    pred, state = net(x, state)
    loss = F.mse_loss(pred, y)
    loss.backward(retain_graph=True)  # FAULT
    loss.backward()  # REPAIRED
    optimizer.step()
    state = state.detach()  # REPAIRED
    losses.append(loss.item())
    if (step + 1) % 25 == 0:
        took = (time.time() - tic) / 25
        print(f"chunk {step + 1:3d}  mse {np.mean(losses[-25:]):.4f}  {1000 * took:.1f} ms/chunk")
        tic = time.time()

net.eval()
with torch.no_grad():
    pred, _ = net(signal[train_end:], state)
    print(f"rest of the streams: mse {F.mse_loss(pred, load[train_end:]).item():.4f}")
