"""Class-conditional DDPM on 8x8 digits with an averaged copy for sampling and classifier-free guidance."""

import copy
import math

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(23)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).flatten(1) / 8 - 1
classes = torch.tensor(digits.target)
K = 40
NONE = 10


def cosine_schedule(steps):
    f = torch.cos((torch.arange(steps + 1) / steps + 0.008) / 1.008 * math.pi / 2) ** 2
    return (f[1:] / f[0]).clamp(1e-4, 0.9999)


class Film(nn.Module):
    """Residual block whose gain and offset depend on the noise level and the class."""

    def __init__(self, d, e):
        super().__init__()
        self.a, self.b = nn.Linear(d, d), nn.Linear(d, d)
        self.mod = nn.Linear(e, 2 * d)
        self.norm = nn.LayerNorm(d, elementwise_affine=False)

    def forward(self, h, e):
        gain, offset = self.mod(e).chunk(2, 1)
        return h + self.b(F.silu(self.a(self.norm(h)) * (1 + gain) + offset))


class Denoiser(nn.Module):
    def __init__(self, d=160, e=48):
        super().__init__()
        self.register_buffer("freq", torch.exp(torch.linspace(0, math.log(50), 16)))
        self.cls = nn.Embedding(11, 32)
        self.cond = nn.Sequential(nn.Linear(64, e), nn.SiLU())
        self.inp = nn.Linear(64, d)
        self.mid = nn.ModuleList([Film(d, e) for _ in range(3)])
        self.end = nn.Linear(d, 64)
        nn.init.zeros_(self.end.weight)
        nn.init.zeros_(self.end.bias)

    def forward(self, x, k, y):
        ang = k[:, None] / K * self.freq
        e = self.cond(torch.cat([ang.sin(), ang.cos(), self.cls(y)], 1))
        h = self.inp(x)
        for block in self.mid:
            h = block(h, e)
        return self.end(h)


ab = cosine_schedule(K)
model = Denoiser()
ema = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.99))
TOTAL = 420
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, TOTAL)

history = []
for it in range(TOTAL):
    pick = torch.randint(0, len(images), (72,))
    x0, y = images[pick], classes[pick]
    y = torch.where(torch.rand(72) < 0.15, NONE, y)
    k = torch.randint(0, K, (72,))
    eps = torch.randn_like(x0)
    s = ab[k].unsqueeze(1)
    loss = F.mse_loss(model(s.sqrt() * x0 + (1 - s).sqrt() * eps, k.float(), y), eps)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    history.append(loss.item())
    decay = min(0.99, (1 + it) / (10 + it))
    with torch.no_grad():
        for e, p in zip(ema.parameters(), model.parameters()):
            e.mul_(decay).add_(p, alpha=1 - decay)
    if it % 60 == 59:
        print(f"iter {it + 1}: loss {sum(history[-60:]) / 60:.4f}")


@torch.no_grad()
def generate(y, guide=1.0):
    x = torch.randn(len(y), 64)
    for j in reversed(range(K)):
        k = torch.full((len(y),), float(j))
        with_y, without = ema(x, k, y), ema(x, k, torch.full_like(y, NONE))
        eps = (1 + guide) * with_y - guide * without
        x0 = ((x - (1 - ab[j]).sqrt() * eps) / ab[j].sqrt()).clamp(-1, 1)
        eps = (x - ab[j].sqrt() * x0) / (1 - ab[j]).sqrt()
        x = x0 if j == 0 else ab[j - 1].sqrt() * x0 + (1 - ab[j - 1]).sqrt() * eps
    return x


want = torch.arange(10).repeat(10)
means = torch.stack([images[classes == c].mean(0) for c in range(10)])
hits = torch.cdist(generate(want), means).argmin(1) == want
print(f"drawn digits nearest to the mean of their class: {hits.float().mean():.2f}")
