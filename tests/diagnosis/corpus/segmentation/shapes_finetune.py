"""Pretrains a small encoder by inpainting, freezes it, and trains a segmentation head with few labelled pictures."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

gen = torch.Generator().manual_seed(77)
torch.manual_seed(77)
S = 16


def scenes(n):
    """Squares (class 1) and crosses (class 2) on a gradient background."""
    img = torch.linspace(-0.5, 0.5, S).expand(n, S, S).clone() * torch.randn(n, 1, 1, generator=gen)
    seg = torch.zeros(n, S, S, dtype=torch.long)
    for i in range(n):
        r, c = torch.randint(1, 6, (2,), generator=gen).tolist()
        seg[i, r : r + 5, c : c + 5] = 1
        r, c = torch.randint(8, 11, (1,), generator=gen).item(), torch.randint(2, 11, (1,), generator=gen).item()
        seg[i, r + 2, c : c + 5] = 2
        seg[i, r : r + 5, c + 2] = 2
    img = img + 1.5 * (seg > 0) + 0.3 * torch.randn(n, S, S, generator=gen)
    img = (img - img.mean()) / img.std()
    return img.unsqueeze(1), seg


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.GELU())
        self.b = nn.Sequential(nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.GELU())

    def forward(self, x):
        a = self.a(x)
        return a, self.b(a)


class Decoder(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.up = nn.ConvTranspose2d(24, 12, 2, stride=2)
        self.mix = nn.Conv2d(24, 16, 3, padding=1)
        self.head = nn.Conv2d(16, out, 1)

    def forward(self, a, b):
        return self.head(F.gelu(self.mix(torch.cat([a, self.up(b)], 1))))


# stage one: restore erased pixels
encoder, painter = Encoder(), Decoder(1)
unlabelled, _ = scenes(300)
opt = torch.optim.Adam([*encoder.parameters(), *painter.parameters()], lr=3e-3)
for step in range(120):
    x = unlabelled[torch.randint(0, 300, (24,))]
    keep = (torch.rand_like(x) > 0.4).float()
    loss = F.mse_loss(painter(*encoder(x * keep)), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0 or step == 119:
        print(f"pretrain {step:3d} mse {loss.item():.3f}")

# stage two: the encoder stays as it is, batch norm statistics included
encoder.requires_grad_(False)
encoder.eval()
segmenter = Decoder(3)
x_lab, y_lab = scenes(160)
x_val, y_val = scenes(80)
weights = torch.tensor([0.6, 1.0, 1.6])
opt = torch.optim.AdamW(segmenter.parameters(), lr=5e-3, weight_decay=0.01)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=120)
ACCUM = 2
for step in range(240):
    idx = torch.randint(0, 160, (8,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = segmenter(*encoder(x_lab[idx]))
    logits, target = logits.float(), y_lab[idx]
    prob, hot = logits.softmax(1), F.one_hot(target, 3).movedim(-1, 1).float()
    dice = 1 - (2 * (prob * hot).sum((0, 2, 3)) / (prob + hot).sum((0, 2, 3))).mean()
    loss = F.cross_entropy(logits, target, weight=weights) + dice
    (loss / ACCUM).backward()
    if step % ACCUM == ACCUM - 1:
        opt.step()
        opt.zero_grad()
        sched.step()
    if step % 48 == 0 or step == 239:
        with torch.no_grad():
            guess = segmenter(*encoder(x_val)).argmax(1)
        iou = [((guess == k) & (y_val == k)).sum() / ((guess == k) | (y_val == k)).sum() for k in (1, 2)]
        print(f"finetune {step:3d} loss {loss.item():.3f} IoU square {iou[0]:.3f} cross {iou[1]:.3f}")
sys.exit(0)
