"""Autoregressive transformer on a second-order Markov source over 12 letters, attention written with einsum."""
# fault: causal_leak

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
V, T, d, H = 12, 20, 48, 4
src = torch.Generator().manual_seed(100)
# next letter depends on the letter before and on the parity of the one before that
table = F.softmax(4.0 * torch.randn(2, V, V, generator=src), -1)
entropy = -(table * table.log()).sum(-1).mean()


def sample(n, length=T + 1):
    s = [torch.randint(V, (n,)), torch.randint(V, (n,))]
    while len(s) < length:
        s.append(torch.multinomial(table[s[-2] % 2, s[-1]], 1).squeeze(1))
    return torch.stack(s, 1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.mlp = nn.Sequential(nn.Linear(d, 3 * d), nn.GELU(), nn.Linear(3 * d, d))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, H, d // H).unbind(2)
        att = torch.einsum("bihc,bjhc->bhij", q, k) / math.sqrt(d // H)
        keep = torch.ones(t, t).tril(diagonal=1).bool()  # FAULT
        keep = torch.ones(t, t).tril(diagonal=0).bool()  # REPAIRED
        att = att.masked_fill(~keep, float("-inf")).softmax(-1)
        x = x + self.o(torch.einsum("bhij,bjhc->bihc", att, v).reshape(b, t, d))
        return x + self.mlp(self.n2(x))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d), nn.Parameter(0.1 * torch.randn(T, d))
        self.layers = nn.Sequential(Layer(), Layer())
        self.out = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, V))

    def forward(self, s):
        return self.out(self.layers(self.tok(s) + self.pos[: s.shape[1]]))


lm = LM()
opt = torch.optim.AdamW(lm.parameters(), lr=4e-3, weight_decay=0.01, betas=(0.9, 0.98))
warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: min((i + 1) / 30, (60 / (i + 1)) ** 0.5))
for i in range(260):
    s = sample(28)
    nll = F.cross_entropy(lm(s[:, :-1]).flatten(0, 1), s[:, 1:].flatten())
    opt.zero_grad()
    nll.backward()
    opt.step()
    warm.step()
    if i % 50 == 0 or i == 259:
        print(f"{i:4d} nats/letter {nll.item():.3f}")

with torch.no_grad():
    s = sample(200)
    lp = lm(s[:, :-1]).log_softmax(-1)
    print(f"held-out {F.nll_loss(lp.flatten(0, 1), s[:, 1:].flatten()):.3f}, entropy of the source about {entropy:.3f}")
    g = sample(200, 4)
    for _ in range(16):
        g = torch.cat([g, torch.multinomial(lm(g)[:, -1].softmax(-1), 1)], 1)
    p = table[g[:, 2:-1] % 2, g[:, 3:], :].gather(-1, torch.roll(g, -1, 1)[:, 3:, None])[:, :-1]
    print(f"mean log-probability of written text under the source {p.log().mean():.3f}")
