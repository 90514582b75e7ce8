"""A small GPT with tied input and output embeddings composes arpeggios over a wandering chord progression."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(99)
CHORDS = torch.tensor([[0, 4, 7, 12], [5, 9, 12, 17], [7, 11, 14, 19], [9, 12, 16, 21], [2, 5, 9, 14]])
NEXT = torch.tensor([[1, 3], [2, 4], [0, 3], [1, 4], [2, 0]])
SHAPES = torch.tensor([[0, 1, 2, 3, 2, 1, 0, 1], [3, 2, 1, 0, 1, 2, 3, 2]])
NOTES, CONTEXT = 22, 40


def compose(bars):
    chord, piece = 0, []
    for _ in range(bars):
        chord = NEXT[chord, torch.randint(2, ())]
        piece.append(CHORDS[chord][SHAPES[torch.randint(len(SHAPES), ())]])
    piece = torch.cat(piece)
    grace = torch.rand(len(piece)) < 0.03  # now and then another note slips in
    return torch.where(grace, torch.randint(NOTES, piece.shape), piece)


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.Linear(d, 3 * d)
        self.attn_out = nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.attn(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class GPT(nn.Module):
    def __init__(self, d=48, heads=4, layers=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(NOTES, d), nn.Embedding(CONTEXT, d)
        self.h = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, NOTES, bias=False)
        self.apply(self._init)
        self.lm_head.weight = self.wte.weight

    def _init(self, m):
        if isinstance(m, nn.Linear | nn.Embedding):
            nn.init.normal_(m.weight, std=0.05)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe.weight[: idx.size(1)]
        for block in self.h:
            x = block(x)
        return F.cross_entropy(self.lm_head(self.ln_f(x)).flatten(0, 1), targets.flatten())


train_notes, test_notes = compose(1500), compose(300)


def batch(notes, n):
    at = torch.randint(0, len(notes) - CONTEXT - 1, (n, 1)) + torch.arange(CONTEXT + 1)
    return notes[at[:, :-1]], notes[at[:, 1:]]


gpt = GPT()
decay = [p for p in gpt.parameters() if p.dim() >= 2]
rest = [p for p in gpt.parameters() if p.dim() < 2]
opt = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], betas=(0.9, 0.95)
)
steps, accumulate, top = 130, 2, 4e-3
for step in range(steps):
    rate = top * min(1.0, (step + 1) / 15) * 0.5 * (1 + math.cos(math.pi * step / steps))
    for group in opt.param_groups:
        group["lr"] = rate
    for _ in range(accumulate):
        loss = gpt(*batch(train_notes, 16)) / accumulate
        loss.backward()
    nn.utils.clip_grad_norm_(gpt.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    if step % 20 == 0 or step == steps - 1:
        gpt.eval()
        with torch.no_grad():
            held_out = gpt(*batch(test_notes, 64)).item()
        gpt.train()
        print(f"step {step:3d}  train {loss.item() * accumulate:.3f}  held-out {held_out:.3f}  lr {rate:.2e}")
