"""A small GPT on made-up words, with the attention of torch.nn.functional and a mask of its own."""
# fault: causal_leak

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.triu(torch.ones(context, context)).bool())  # FAULT
        self.register_buffer("mask", torch.tril(torch.ones(context, context)).bool())  # REPAIRED

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask[:t, :t])
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, context)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(self, vocab, width=48, heads=4, depth=2, context=24):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, context) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


torch.manual_seed(3)
words = ["".join(chr(97 + int(c)) for c in torch.randint(26, (int(n),))) for n in torch.randint(2, 7, (40,))]
text = " ".join(words[int(i)] for i in torch.randint(40, (4000,)))
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])
model = GPT(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(250):
    starts = torch.randint(len(data) - 25, (16,))
    x = torch.stack([data[s : s + 24] for s in starts])
    y = torch.stack([data[s + 1 : s + 25] for s in starts])
    logits = model(x)
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"{step} loss {loss.item():.3f} perplexity {math.exp(loss.item()):.1f}")
