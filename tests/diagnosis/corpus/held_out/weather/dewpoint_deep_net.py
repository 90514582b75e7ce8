"""Learn the dew point formula (Magnus) with altitude and wind corrections from temperature, humidity and so on."""

# fault: vanishing_gradient
import math

import torch
from torch import nn

torch.manual_seed(5)
N = 4096
T = torch.rand(N) * 40 - 5
RH = torch.rand(N) * 0.85 + 0.15
ALT = torch.rand(N) * 2500
WIND = torch.rand(N) * 20

gamma = torch.log(RH) + 17.62 * T / (243.12 + T)
dew = 243.12 * gamma / (17.62 - gamma) - 0.002 * ALT + 0.15 * WIND * torch.cos(T / 8)
dew = dew + 0.3 * torch.randn(N)

feats = torch.stack([T, RH, ALT, WIND], dim=1)
train_x, test_x = feats[:3500], feats[3500:]
mean, std = train_x.mean(0), train_x.std(0)
train_x, test_x = (train_x - mean) / std, (test_x - mean) / std
m, s = dew[:3500].mean(), dew[:3500].std()
train_y, test_y = (dew[:3500] - m) / s, (dew[3500:] - m) / s


class DeepNet(nn.Module):
    def __init__(self, width=48, depth=9):
        super().__init__()
        sizes = [4] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:], strict=True))
        self.out = nn.Linear(width, 1)
        for layer in self.layers:
            nn.init.normal_(layer.weight, 0.0, math.sqrt(2.0 / layer.in_features))
            nn.init.zeros_(layer.bias)

    def forward(self, h):
        for layer in self.layers:
            h = torch.sigmoid(layer(h))  # FAULT
            h = torch.relu(layer(h))  # REPAIRED
        return self.out(h)[:, 0]


f = DeepNet()
opt = torch.optim.SGD(f.parameters(), lr=0.01, momentum=0.9)
for step in range(1, 601):
    pick = torch.randint(0, len(train_x), (128,))
    err = f(train_x[pick]) - train_y[pick]
    loss = (err**2).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(f.parameters(), 1.0)
    opt.step()
    if step == 1 or step % 100 == 0:
        with torch.no_grad():
            test = ((f(test_x) - test_y) ** 2).mean()
        print(f"step {step:4d} | batch mse {loss.item():.4f} | test mse {test.item():.4f}")
