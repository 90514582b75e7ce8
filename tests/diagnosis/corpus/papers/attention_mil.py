"""Attention-based multiple-instance learning: a bag is positive if it holds at least one witness instance."""
# fault: wrong_softmax_dim

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(40)
B, N, D = 32, 12, 10  # bags, instances, features
witness = 2.2 * F.normalize(torch.randn(D), dim=0) + 0.4


def bags(n):
    x = torch.randn(n, N, D)
    y = (torch.rand(n) < 0.5).float()
    has = torch.rand(n, N) < 0.15
    has[torch.arange(n), torch.randint(N, (n,))] = True
    return x + (has & (y[:, None] > 0))[..., None] * witness, y


class GatedAttentionMIL(nn.Module):
    def __init__(self, h=32, k=24):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(D, h), nn.LeakyReLU(), nn.Linear(h, h), nn.LeakyReLU())
        self.V, self.U, self.w = nn.Linear(h, k), nn.Linear(h, k), nn.Linear(k, 1)
        self.rho = nn.Linear(h, 1)

    def forward(self, x):
        h = self.embed(x)  # b n h
        e = self.w(torch.tanh(self.V(h)) * torch.sigmoid(self.U(h))).squeeze(-1)  # b n
        a = F.softmax(e, dim=0)  # FAULT
        a = F.softmax(e, dim=1)  # REPAIRED
        z = torch.einsum("bn,bnh->bh", a, h)
        return self.rho(z).squeeze(-1), a


f = GatedAttentionMIL()
opt = torch.optim.Adam(f.parameters(), lr=3e-3, betas=(0.9, 0.99))
run = None
for it in range(500):
    x, y = bags(B)
    s, _ = f(x)
    nll = -(y * F.logsigmoid(s) + (1 - y) * F.logsigmoid(-s)).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    run = nll.item() if run is None else 0.95 * run + 0.05 * nll.item()
    if (it + 1) % 100 == 0:
        print(f"iter {it + 1}  nll {run:.4f}")

f.eval()
with torch.no_grad():
    x, y = bags(1000)
    s, a = f(x)
    print(f"test nll {F.binary_cross_entropy_with_logits(s, y):.4f}  acc {((s > 0) == (y > 0)).float().mean():.3f}")
    print(f"largest attention weight in a bag, mean over the test bags: {a.amax(1).mean():.3f}")
