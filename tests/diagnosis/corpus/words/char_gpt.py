"""A tiny character-level GPT trained on made-up kitchen sentences, with samples drawn at the end."""

# fault: causal_leak
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
random.seed(3)

who = ["anna", "the cook", "my uncle", "bert", "our guest"]
does = ["stirs", "burns", "tastes", "hides", "washes"]
what = ["the soup", "a carrot", "two onions", "the big pan", "some bread"]
text = "".join(f"{random.choice(who)} {random.choice(does)} {random.choice(what)}. " for _ in range(1000))
vocab = sorted(set(text))
stoi = {c: i for i, c in enumerate(vocab)}
data = torch.tensor([stoi[c] for c in text])
split = int(0.9 * len(data))
train_ids, val_ids = data[:split], data[split:]

BLOCK, DIM, HEADS = 24, 48, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attn = nn.MultiheadAttention(DIM, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class CharGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(len(vocab), DIM)
        self.pos = nn.Embedding(BLOCK, DIM)
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, len(vocab))

    def forward(self, idx):
        t = idx.shape[1]
        # True means "may not look there"
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=2)  # FAULT
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)  # REPAIRED
        x = self.tok(idx) + self.pos(torch.arange(t))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def make_step(model, opt, ids, batch_size=16):
    def get_batch():
        at = torch.randint(len(ids) - BLOCK - 1, (batch_size,))
        return torch.stack([ids[i : i + BLOCK] for i in at]), torch.stack([ids[i + 1 : i + 1 + BLOCK] for i in at])

    def step(train=True):
        x, y = get_batch()
        with torch.set_grad_enabled(train):
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        if train:
            opt.zero_grad()
            loss.backward()
            opt.step()
        return loss.item()

    return step


@torch.no_grad()
def sample(model, n=120):
    idx = torch.tensor([[stoi["."], stoi[" "]]])
    for _ in range(n):
        p = model(idx[:, -BLOCK:])[:, -1].softmax(-1)
        idx = torch.cat([idx, torch.multinomial(p, 1)], 1)
    return "".join(vocab[i] for i in idx[0].tolist())[2:]


gpt = CharGPT()
opt = torch.optim.AdamW(gpt.parameters(), lr=3e-3, weight_decay=0.01)
train_step, val_step = make_step(gpt, opt, train_ids), make_step(gpt, opt, val_ids)
for it in range(241):
    loss = train_step()
    if it % 60 == 0:
        val = sum(val_step(train=False) for _ in range(5)) / 5
        print(f"iter {it:3d} | train {loss:.3f} | val {val:.3f}")

out = sample(gpt)
known = set(text.replace(".", "").split())
words = out.replace(".", "").split()
print(out[:100])
print(f"real words in the sample: {sum(w in known for w in words) / max(len(words), 1):.0%}")
