"""Tiny word-level transformer that learns to write made-up sentences, judged by a few samples at the end."""

# fault: causal_leak
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(11)
torch.manual_seed(11)

ANIMALS = ["cat", "dog", "fox", "hen"]
VERBS = {
    "cat": ["chases", "watches"],
    "dog": ["follows", "greets"],
    "fox": ["steals", "hides"],
    "hen": ["pecks", "lays"],
}
OBJECTS = {
    "chases": ["mice", "birds"],
    "watches": ["fish", "rain"],
    "follows": ["cars", "kids"],
    "greets": ["guests", "kids"],
    "steals": ["eggs", "bread"],
    "hides": ["bones", "bread"],
    "pecks": ["corn", "seeds"],
    "lays": ["eggs", "straw"],
}
vocab = ["."] + ["the", "a"] + ANIMALS + sorted(OBJECTS) + sorted({o for os in OBJECTS.values() for o in os})
stoi = {w: i for i, w in enumerate(vocab)}


def sentence():
    animal = rng.choice(ANIMALS)
    verb = rng.choice(VERBS[animal])
    return [rng.choice(["the", "a"]), animal, verb, rng.choice(OBJECTS[verb]), "."]


def make_stream(n):
    return torch.tensor([stoi[w] for _ in range(n) for w in sentence()])


train_ids, valid_ids = make_stream(3000), make_stream(400)
BLOCK = 20


def get_batch(ids, size=32):
    starts = torch.randint(0, len(ids) - BLOCK - 1, (size,))
    x = torch.stack([ids[s : s + BLOCK] for s in starts])
    y = torch.stack([ids[s + 1 : s + BLOCK + 1] for s in starts])
    return x, y


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5
        att = att.masked_fill(torch.ones(t, t).triu(1).bool(), float("-inf"))  # REPAIRED
        y = (att.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, t, c)
        x = x + self.out(y)
        return x + self.mlp(self.ln2(x))


class TinyLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tok = nn.Embedding(len(vocab), dim)
        self.pos = nn.Embedding(BLOCK, dim)
        self.blocks = nn.Sequential(Block(dim, 4), Block(dim, 4))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, len(vocab))

    def forward(self, ids):
        h = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(h)))


lm = TinyLM()
opt = torch.optim.AdamW(lm.parameters(), lr=3e-3)
for it in range(1, 401):
    xb, yb = get_batch(train_ids)
    loss = F.cross_entropy(lm(xb).flatten(0, 1), yb.flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if it == 1 or it % 80 == 0:
        lm.eval()
        with torch.no_grad():
            xv, yv = get_batch(valid_ids, 64)
            val = F.cross_entropy(lm(xv).flatten(0, 1), yv.flatten())
        lm.train()
        print(f"iter {it}: train {loss.item():.3f} valid {val.item():.3f} perplexity {val.exp().item():.2f}")

lm.eval()
ids = torch.zeros(100, 1, dtype=torch.long)
with torch.no_grad():
    for _ in range(5):
        probs = lm(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
texts = [[vocab[i] for i in row[1:]] for row in ids.tolist()]
fine = [t for t in texts if t[1] in VERBS and t[2] in VERBS[t[1]] and t[3] in OBJECTS[t[2]]]
print("\n".join(" ".join(t) for t in texts[:4]))
print(f"well-formed samples: {len(fine)} of {len(texts)}")
