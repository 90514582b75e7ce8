"""Estimate the coefficient of an AR(1) process from series of unequal length with a packed LSTM."""

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence
from torch.utils.data import DataLoader, IterableDataset


class Series(IterableDataset):
    """Endless stream of (series, coefficient); every series is scaled to unit variance."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __iter__(self):
        while True:
            phi = self.rng.uniform(-0.95, 0.95)
            n = self.rng.integers(15, 40)
            x = np.empty(n)
            x[0] = self.rng.normal() / np.sqrt(1 - phi**2)
            noise = self.rng.normal(size=n)
            for t in range(1, n):
                x[t] = phi * x[t - 1] + noise[t]
            yield (x - x.mean()) / x.std(), phi


def collate(items):
    packed = pack_sequence([torch.tensor(x, dtype=torch.float32).unsqueeze(1) for x, _ in items], enforce_sorted=False)
    return packed, torch.tensor([phi for _, phi in items], dtype=torch.float32)


class Estimator(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden)
        self.regress = nn.Linear(hidden, 1)
        nn.init.zeros_(self.regress.weight)
        nn.init.zeros_(self.regress.bias)

    def forward(self, packed):
        _, (h, _) = self.lstm(packed)
        return self.regress(h[-1]).squeeze(1)


torch.manual_seed(4)
stream = iter(DataLoader(Series(4), batch_size=32, collate_fn=collate))
test_x, test_phi = next(iter(DataLoader(Series(5), batch_size=500, collate_fn=collate)))

f = Estimator()
huber = nn.SmoothL1Loss(beta=0.2)
opt = torch.optim.RMSprop(f.parameters(), lr=6e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=180)
smooth = None
for it in range(180):
    x, phi = next(stream)
    loss = huber(f(x), phi)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(f.parameters(), max_norm=1.0)
    opt.step()
    sched.step()
    smooth = loss.item() if smooth is None else 0.95 * smooth + 0.05 * loss.item()
    if it % 30 == 29:
        with torch.no_grad():
            rmse = (f(test_x) - test_phi).square().mean().sqrt().item()
        print(
            f"{it + 1:4d}  smoothed loss {smooth:.4f}  test rmse {rmse:.4f}  (std of phi {test_phi.std().item():.3f})"
        )
