"""A tiny language model whose attention is written out."""

# fault: causal_leak
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
V, T = 16, 20
start = torch.randint(0, V, (600, 1))
step = torch.randint(1, 4, (600, 1))
seqs = (start + step * torch.arange(T + 1)) % V


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(T, T)))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        att = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        att = att.masked_fill(self.mask == 1, -1e9)  # FAULT
        att = att.masked_fill(self.mask == 0, -1e9)  # REPAIRED
        return self.proj(att.softmax(-1) @ v)


class LM(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(T, d)
        self.a1, self.a2 = Attention(d), Attention(d)
        self.n1, self.n2, self.head = nn.LayerNorm(d), nn.LayerNorm(d), nn.Linear(d, V)

    def forward(self, idx):
        h = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        h = h + self.a1(self.n1(h))
        return self.head(h + self.a2(self.n2(h)))


lm = LM()
optimizer = torch.optim.AdamW(lm.parameters(), lr=3e-3)
for epoch in range(8):
    for b in seqs[torch.randperm(600)].split(30):
        loss = F.cross_entropy(lm(b[:, :-1]).reshape(-1, V), b[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
