"""Denoising autoencoder with tied weights that flags abnormal trading days in a panel of stock returns."""

import sys

import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, IterableDataset

ASSETS, FACTORS = 30, 4
torch.manual_seed(9)
loadings = torch.randn(FACTORS, ASSETS)


def trading_days(n, shocks=False):
    panel = torch.randn(n, FACTORS) @ loadings + 0.7 * torch.randn(n, ASSETS)
    if shocks:
        hit = torch.rand(n, ASSETS) < 0.15
        panel = panel + hit * 3.0 * torch.randn(n, ASSETS)
    return panel


class DayStream(IterableDataset):
    def __init__(self, days, length):
        self.days, self.length = days, length

    def __iter__(self):
        for i in torch.randint(0, len(self.days), (self.length,)).tolist():
            yield self.days[i]


class TiedAutoencoder(nn.Module):
    def __init__(self, n, k):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(k, n))
        nn.init.orthogonal_(self.weight, gain=0.5)
        self.hidden_bias = nn.Parameter(torch.zeros(k))
        self.visible_bias = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        code = F.linear(x, self.weight, self.hidden_bias)
        return F.linear(code, self.weight.t(), self.visible_bias)


train_days = trading_days(3000)
mean, std = train_days.mean(0), train_days.std(0)
train_days = (train_days - mean) / std

steps = 320
ae = TiedAutoencoder(ASSETS, FACTORS)
opt = torch.optim.Adam(ae.parameters(), lr=1e-3)
schedule = OneCycleLR(opt, max_lr=1e-2, total_steps=steps)
loader = DataLoader(DayStream(train_days, steps * 64), batch_size=64)

for step, clean in enumerate(loader):
    noisy = clean + 0.1 * torch.randn_like(clean)
    loss = ((ae(noisy) - clean) ** 2).sum(dim=1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    schedule.step()
    if step % 40 == 0 or step == steps - 1:
        print(f"step {step:3d}  lr {schedule.get_last_lr()[0]:.5f}  reconstruction {loss.item():.3f}")

ae.eval()
with torch.no_grad():
    calm = (trading_days(500) - mean) / std
    wild = (trading_days(100, shocks=True) - mean) / std
    days = torch.cat([calm, wild])
    surprise = ((ae(days) - days) ** 2).sum(1)
flags = [0] * 500 + [1] * 100
auc = roc_auc_score(flags, surprise.numpy())
print(f"calm day error {surprise[:500].mean():.2f}, AUC of the anomaly score {auc:.3f}")
sys.exit(0 if auc > 0.5 else 1)
