"""Toy CLIP: aligns small pictures of shapes with short captions.

First the picture network is trained to name shape and place, then it is kept fixed and a caption encoder and two
projections learn to match it.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

g = torch.Generator().manual_seed(6)
torch.manual_seed(6)
WORDS = ["<pad>", "a", "small", "big", "cross", "square", "bar", "top", "bottom", "left", "right", "at"]
TOK = {w: i for i, w in enumerate(WORDS)}


def draw(n):
    kind = torch.randint(3, (n,), generator=g)
    big = torch.randint(2, (n,), generator=g)
    row, col = torch.randint(2, (2, n), generator=g)
    img = 0.15 * torch.randn(n, 1, 12, 12, generator=g)
    caps = torch.zeros(n, 7, dtype=torch.long)
    for i in range(n):
        r, c, s = 3 + 6 * row[i], 3 + 6 * col[i], 2 + big[i]
        if kind[i] == 0:
            img[i, 0, r, c - s + 1 : c + s] += 1
            img[i, 0, r - s + 1 : r + s, c] += 1
        elif kind[i] == 1:
            img[i, 0, r - s + 1 : r + s, c - s + 1 : c + s] += 1
        else:
            img[i, 0, r, c - s : c + s] += 1
        words = ["a", ["small", "big"][big[i]], ["cross", "square", "bar"][kind[i]]]
        words += ["at", ["top", "bottom"][row[i]], ["left", "right"][col[i]]]
        if torch.rand(1, generator=g) < 0.5:
            words = words[1:]
        caps[i, : len(words)] = torch.tensor([TOK[w] for w in words])
    return (img - 0.08) / 0.3, caps, ((kind * 2 + big) * 2 + row) * 2 + col


img, cap, cls = draw(1500)
img_val, cap_val, cls_val = draw(300)

# --- stage 1: the picture network learns the 24 kinds
vision = nn.Sequential(
    nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.SiLU(), nn.Conv2d(12, 24, 3, padding=1), nn.SiLU(), nn.Flatten()
)
named = nn.Sequential(vision, nn.Linear(24 * 36, 24))
opt1 = torch.optim.Adam(named.parameters(), lr=3e-3)
for it in range(120):
    pick = torch.randint(len(img), (64,))
    loss = F.cross_entropy(named(img[pick]), cls[pick], label_smoothing=0.05)
    opt1.zero_grad()
    loss.backward()
    opt1.step()
with torch.no_grad():
    acc = (named(img_val).argmax(1) == cls_val).float().mean().item()
print(f"stage 1: loss {loss.item():.3f}, val acc {acc:.3f}")

# --- stage 2: picture network stays as it is
vision.requires_grad_(False).eval()


class Captions(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(len(WORDS), 24, padding_idx=0)
        self.mix = nn.Sequential(nn.Linear(24, 64), nn.SiLU(), nn.Linear(64, dim))

    def forward(self, tokens):
        mask = (tokens != 0).unsqueeze(-1)
        return self.mix((self.emb(tokens) * mask).sum(1) / mask.sum(1) ** 0.5)


text, img_proj = Captions(), nn.Linear(24 * 36, 32, bias=False)
log_scale = nn.Parameter(torch.tensor(5.0).log())
opt2 = torch.optim.AdamW(
    [
        {"params": [*text.parameters(), *img_proj.parameters()], "weight_decay": 0.01},
        {"params": [log_scale], "weight_decay": 0.0, "lr": 1e-3},
    ],
    lr=3e-3,
)
ACCUMULATE = 2
for it in range(400):
    # one picture of each kind, so that every caption has one right partner
    pick = torch.stack([(cls == k).nonzero().squeeze(1)[torch.randint(int((cls == k).sum()), ())] for k in range(24)])
    zi, zt = F.normalize(img_proj(vision(img[pick])), dim=1), F.normalize(text(cap[pick]), dim=1)
    logits = log_scale.exp().clamp(max=50) * zi @ zt.T
    here = torch.arange(24)
    loss = 0.5 * (F.cross_entropy(logits, here) + F.cross_entropy(logits.T, here))
    (loss / ACCUMULATE).backward()
    if (it + 1) % ACCUMULATE == 0:
        opt2.step()
        opt2.zero_grad()
    if it % 80 == 0 or it == 399:
        print(f"it {it}: loss {loss.item():.3f} (chance {torch.tensor(24.0).log().item():.2f})")

with torch.no_grad():
    sim = F.normalize(img_proj(vision(img_val)), dim=1) @ F.normalize(text(cap_val), dim=1).T
    right = (cls_val[sim.argmax(1)] == cls_val).float().mean().item()
print(f"retrieval on unseen pictures: {right:.3f}")
