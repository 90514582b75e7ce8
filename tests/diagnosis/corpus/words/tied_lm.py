"""Word-level causal language model: tied weights, gradient accumulation and a warm-up cosine schedule."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
V, D, T = 40, 48, 20
follow = torch.stack([torch.randperm(V)[:2] for _ in range(V)])  # two possible followers of every word


def corpus(n):
    rows = [torch.randint(V, (n,))]
    for _ in range(T):
        pick = (torch.rand(n) < 0.15).long()
        rows.append(follow[rows[-1], pick])
    return torch.stack(rows, 1)


class TiedLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(V, D)
        self.pos = nn.Parameter(0.02 * torch.randn(T, D))
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.mix = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.ff = nn.Sequential(nn.Linear(D, 3 * D), nn.GELU(), nn.Linear(3 * D, D))
        self.head = nn.Linear(D, V, bias=False)
        nn.init.normal_(self.tok.weight, std=0.1)
        self.head.weight = self.tok.weight

    def forward(self, idx):
        b, t = idx.shape
        x = self.tok(idx) + self.pos[:t]
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, 4, D // 4).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix(a.transpose(1, 2).reshape(b, t, D))
        x = x + self.ff(self.norm2(x))
        return self.head(self.norm3(x))


train, valid = corpus(2000), corpus(200)
lm = TiedLM()
opt = torch.optim.AdamW(lm.parameters(), lr=6e-3, weight_decay=0.01)
steps, warmup, accumulate = 200, 20, 2
sched = torch.optim.lr_scheduler.LambdaLR(
    opt,
    lambda s: (s + 1) / warmup if s < warmup else 0.5 * (1 + math.cos(math.pi * (s - warmup) / (steps - warmup))),
)

for step in range(steps):
    seen = 0.0
    for _ in range(accumulate):
        seq = train[torch.randint(len(train), (12,))]
        loss = F.cross_entropy(lm(seq[:, :-1]).reshape(-1, V), seq[:, 1:].reshape(-1)) / accumulate
        loss.backward()
        seen += loss.item()
    nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    if step % 40 == 0 or step == steps - 1:
        lm.eval()
        with torch.no_grad():
            v = F.cross_entropy(lm(valid[:, :-1]).reshape(-1, V), valid[:, 1:].reshape(-1)).item()
        lm.train()
        print(f"{step:3d}  train {seen:.3f}  valid {v:.3f}  ppl {math.exp(v):.2f}  lr {sched.get_last_lr()[0]:.1e}")
