"""A two-layer character-level language model on made-up nursery sentences."""

# fault: causal_leak
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(1)
torch.manual_seed(1)

subjects = ["the cat", "a dog", "my aunt", "the old king", "one bird"]
verbs = ["sees", "likes", "follows", "paints", "forgets"]
objects = ["the moon", "a red ball", "its shadow", "the river", "some bread"]
ends = [". ", " again. ", " at night. "]
text = "".join(
    f"{random.choice(subjects)} {random.choice(verbs)} {random.choice(objects)}{random.choice(ends)}"
    for _ in range(2500)
)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]

block_size, batch_size, n_embd, n_head = 40, 16, 64, 4


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block_size - 1, (batch_size,))
    x = torch.stack([d[i : i + block_size] for i in ix])
    y = torch.stack([d[i + 1 : i + block_size + 1] for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.proj = nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size), diagonal=1))  # FAULT
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))  # REPAIRED

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (z.view(B, T, n_head, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, dim=-1))
        wei = q @ k.transpose(-2, -1) * (C // n_head) ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")).softmax(dim=-1)
        x = x + self.proj((wei @ v).transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class CharLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(len(chars), n_embd)
        self.pos = nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(Block(), Block())
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, len(chars))

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        return self.lm_head(self.ln_f(self.blocks(x)))


def lm_loss(model, x, y):
    logits = model(x)
    return F.cross_entropy(logits.view(-1, logits.size(-1)), y.reshape(-1))


model = CharLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(201):
    if it % 40 == 0:
        model.eval()
        with torch.no_grad():
            val = sum(lm_loss(model, *get_batch("val")).item() for _ in range(3)) / 3
        model.train()
        print(f"iter {it}: val loss {val:.4f}")
    loss = lm_loss(model, *get_batch("train"))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()

model.eval()
idx = torch.tensor([[stoi["t"]]])
with torch.no_grad():
    for _ in range(60):
        probs = F.softmax(model(idx[:, -block_size:])[:, -1], dim=-1)
        idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)
print("final train loss %.4f | sample:" % loss.item(), "".join(chars[i] for i in idx[0].tolist()))
