"""A small GPT on characters, in a bare loop: random windows, two groups of weights, warm-up and cosine, clipping."""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1337)
block_size, batch_size, n_embd, n_head, n_layer, max_iters, warmup = 32, 16, 48, 4, 2, 250, 20
generator = torch.Generator().manual_seed(1)
words = ["the", "cat", "saw", "a", "dog", "and", "then", "ran", "home", "again"]
follow = torch.rand(10, 10, generator=generator) ** 4
text, word = "", 0
while len(text) < 12_000:
    text += words[word] + (" " if torch.rand(1, generator=generator) < 0.9 else ".\n")
    word = int(torch.multinomial(follow[word], 1, generator=generator))
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])
splits = {"train": data[:10_800], "val": data[10_800:]}


def get_batch(split):
    source = splits[split]
    ix = torch.randint(len(source) - block_size, (batch_size,))
    return torch.stack([source[i : i + block_size] for i in ix]), torch.stack(
        [source[i + 1 : i + 1 + block_size] for i in ix]
    )


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in self.c_attn(self.ln_1(x)).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(len(chars), n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList(Block() for _ in range(n_layer))
        self.ln_f, self.lm_head = nn.LayerNorm(n_embd), nn.Linear(n_embd, len(chars), bias=False)
        self.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


model = GPT()
decay = [p for p in model.parameters() if p.dim() >= 2]
nodecay = [p for p in model.parameters() if p.dim() < 2]
groups = [{"params": decay, "weight_decay": 0.1}, {"params": nodecay, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))


def get_lr(it):
    if it < warmup:
        return 3e-3 * (it + 1) / warmup
    return 3e-4 + 0.5 * (1 + math.cos(math.pi * (it - warmup) / (max_iters - warmup))) * (3e-3 - 3e-4)


@torch.no_grad()
def estimate_loss():
    model.eval()
    out = {split: torch.stack([model(*get_batch(split))[1] for _ in range(8)]).mean().item() for split in splits}
    model.train()
    return out


for it in range(max_iters):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(it)
    if it % 50 == 0:
        print(f"step {it}: {estimate_loss()}")
    for _ in range(2):
        _, loss = model(*get_batch("train"))
        (loss / 2).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
print(f"end: {estimate_loss()}")

model.eval()
idx = torch.zeros(1, 1, dtype=torch.long)
with torch.no_grad():
    for _ in range(60):
        logits, _ = model(idx[:, -block_size:])
        idx = torch.cat([idx, torch.multinomial(logits[:, -1].softmax(-1), 1)], 1)
print("".join(chars[i] for i in idx[0].tolist()))
