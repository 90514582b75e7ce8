"""Tiny GPT with tied embeddings on made-up text: sentences spelled out from a few patterns and word lists."""

import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(19)
torch.manual_seed(19)
names, things, verbs = (
    ["ann", "bob", "cid", "eva", "gus"],
    ["a cup", "the sea", "two owls", "a map"],
    ["sees", "has", "likes"],
)
patterns = ["{n} {v} {t}. ", "{n} and {m} go. ", "why? {n} {v} {t}! "]


def text(k):
    pick = random.choice
    return "".join(pick(patterns).format(n=pick(names), m=pick(names), v=pick(verbs), t=pick(things)) for _ in range(k))


corpus, held = text(2500), text(200)
chars = sorted(set(corpus))
stoi = {c: i for i, c in enumerate(chars)}
data, test = (torch.tensor([stoi[c] for c in t if c in stoi]) for t in (corpus, held))
T, d, H, n_layer = 40, 48, 3, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.c_attn, self.c_proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.fc, self.fc_proj = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        B, L, _ = x.shape
        q, k, v = (u.view(B, L, H, d // H).transpose(1, 2) for u in self.c_attn(self.ln1(x)).split(d, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(B, L, d))
        return x + self.fc_proj(F.gelu(self.fc(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(len(chars), d), nn.Embedding(T, d)
        self.h, self.ln_f = nn.ModuleList(Block() for _ in range(n_layer)), nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, len(chars), bias=False)
        self.lm_head.weight = self.wte.weight
        for n, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.05 / (math.sqrt(2 * n_layer) if n.endswith("proj.weight") else 1))

    def forward(self, idx):
        x = self.wte(idx) + self.wpe.weight[: idx.shape[1]]
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def get_batch(src, n):
    at = torch.randint(len(src) - T - 1, (n, 1)) + torch.arange(T + 1)
    return src[at][:, :-1], src[at][:, 1:]


gpt = GPT()
opt = torch.optim.AdamW(gpt.parameters(), lr=4e-3, betas=(0.9, 0.95), weight_decay=0.1)
iters, accum = 170, 2
for it in range(iters):
    for g in opt.param_groups:
        g["lr"] = 4e-3 * min((it + 1) / 20, 0.1 + 0.45 * (1 + math.cos(math.pi * it / iters)))
    opt.zero_grad(set_to_none=True)
    total = 0.0
    for _ in range(accum):
        xb, yb = get_batch(data, 12)
        loss = F.cross_entropy(gpt(xb).transpose(1, 2), yb) / accum
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(gpt.parameters(), 1.0)
    opt.step()
    if it % 34 == 0 or it == iters - 1:
        with torch.no_grad():
            xb, yb = get_batch(test, 64)
            print(f"iter {it}: train {total:.3f}, held-out {F.cross_entropy(gpt(xb).transpose(1, 2), yb):.3f}")

with torch.no_grad():
    idx = torch.tensor([[stoi["a"]]])
    for _ in range(70):
        idx = torch.cat([idx, torch.multinomial(gpt(idx[:, -T:])[:, -1].softmax(-1), 1)], 1)
print("sample:", "".join(chars[i] for i in idx[0]))
