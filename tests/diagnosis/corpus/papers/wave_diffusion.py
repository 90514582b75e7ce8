"""Denoising diffusion on short waveforms (16 samples of a sine with random phase and height), epsilon prediction."""
# fault: graph_growth

import math

import torch
import torch.nn as nn

torch.manual_seed(11)
B, L, K = 192, 16, 50
beta = torch.linspace(1e-3, 0.12, K)
abar = torch.cumprod(1 - beta, 0)


def x0(n):
    phase, amp = 2 * math.pi * torch.rand(n, 1), 0.9 + 0.6 * torch.rand(n, 1)
    return amp * torch.sin(2 * math.pi * torch.arange(L) / L + phase)


class Eps(nn.Module):
    def __init__(self, h=128):
        super().__init__()
        self.time = nn.Embedding(K, h)
        self.a, self.b, self.c = nn.Linear(L, h), nn.Linear(h, h), nn.Linear(h, L)
        nn.init.zeros_(self.c.weight)
        nn.init.zeros_(self.c.bias)

    def forward(self, x, k):
        u = torch.nn.functional.silu(self.a(x) + 0.3 * self.time(k))
        return self.c(u + torch.nn.functional.silu(self.b(u)))


net = Eps()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 700, eta_min=2e-4)
smooth = torch.tensor(1.0)
for it in range(700):
    x, k, e = x0(B), torch.randint(K, (B,)), torch.randn(B, L)
    s = abar[k].unsqueeze(1)
    xt = s.sqrt() * x + (1 - s).sqrt() * e
    guess = net(xt, k)
    loss = torch.mean((guess - e) ** 2)
    miss = torch.mean((xt - (1 - s).sqrt() * guess - s.sqrt() * x) ** 2 / s.sqrt())  # in signal space, to look at
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    smooth = 0.97 * smooth + 0.03 * miss  # FAULT
    smooth = 0.97 * smooth + 0.03 * miss.item()  # REPAIRED
    if (it + 1) % 100 == 0:
        print(f"it {it + 1} loss {loss.item():.4f} error of the clean wave {smooth.item():.4f}")

# ancestral sampling
with torch.no_grad():
    x = torch.randn(256, L)
    for k in reversed(range(K)):
        e = net(x, torch.full((256,), k))
        x = (x - beta[k] / (1 - abar[k]).sqrt() * e) / (1 - beta[k]).sqrt()
        if k > 0:
            x = x + beta[k].sqrt() * torch.randn_like(x)
    power = torch.fft.rfft(x).abs() ** 2
    print(f"share of power at the right frequency: {(power[:, 1] / power.sum(1)).mean():.3f}")
    print(f"height: {x.amax(1).mean():.3f} (true about {x0(2000).amax(1).mean():.3f})")
