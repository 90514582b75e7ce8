"""Recurrent filter for a noisy pressure sensor: reads a long trace and gives back the smooth curve, sample by sample."""
# fault: exploding_gradient

import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--length", type=int, default=100)
parser.add_argument("--hidden", type=int, default=40)
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--lr", type=float, default=2e-3)
args = parser.parse_args()

torch.manual_seed(3)


def traces(n):
    t = torch.linspace(0, 1, args.length)
    freq = 1.0 + 2.0 * torch.rand(n, 1)
    phase = 6.2832 * torch.rand(n, 1)
    clean = torch.sin(6.2832 * freq * t + phase)
    noisy = clean + 0.3 * torch.randn(n, args.length)
    return noisy.unsqueeze(-1), clean.unsqueeze(-1)


class Filter(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.RNN(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)
        nn.init.normal_(self.rnn.weight_hh_l0, std=0.5)  # FAULT
        nn.init.orthogonal_(self.rnn.weight_hh_l0, gain=0.9)  # REPAIRED

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.out(states)


x_test, y_test = traces(200)
model = Filter(args.hidden)
opt = torch.optim.Adam(model.parameters(), lr=args.lr)
mse = nn.MSELoss()

for step in range(1, args.steps + 1):
    x, y = traces(24)
    loss = mse(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        with torch.no_grad():
            err = mse(model(x_test), y_test).item()
        print(f"step {step:4d}   train {loss.item():.4f}   test {err:.4f}")
