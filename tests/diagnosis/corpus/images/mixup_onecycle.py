"""Digits with mixup, label smoothing, gradient clipping and a one-cycle schedule."""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

EPOCHS, BATCH, ALPHA = 14, 64, 0.3
rng = np.random.default_rng(1)
torch.manual_seed(1)

a, b = load_digits(return_X_y=True)
xtr, xva, ytr, yva = train_test_split(a, b, test_size=400, random_state=1, stratify=b)
mu, sd = xtr.mean(), xtr.std()
xtr, xva = (torch.tensor((v - mu) / sd, dtype=torch.float32).view(-1, 1, 8, 8) for v in (xtr, xva))
ytr, yva = torch.tensor(ytr), torch.tensor(yva)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.SiLU(),
    nn.Conv2d(16, 16, 3, padding=1, stride=2),
    nn.GroupNorm(4, 16),
    nn.SiLU(),
    nn.Conv2d(16, 32, 3, padding=1, stride=2),
    nn.SiLU(),
    nn.Flatten(),
    nn.Linear(128, 10),
)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
per_epoch = len(xtr) // BATCH
one_cycle = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, epochs=EPOCHS, steps_per_epoch=per_epoch)

for epoch in range(EPOCHS):
    model.train()
    perm = torch.from_numpy(rng.permutation(len(xtr)))
    seen = []
    for k in range(per_epoch):
        i = perm[k * BATCH : (k + 1) * BATCH]
        j = i[torch.randperm(len(i))]
        lam = float(rng.beta(ALPHA, ALPHA))
        out = model(lam * xtr[i] + (1 - lam) * xtr[j])
        loss = lam * F.cross_entropy(out, ytr[i], label_smoothing=0.05)
        loss = loss + (1 - lam) * F.cross_entropy(out, ytr[j], label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        one_cycle.step()
        seen.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits = model(xva)
    print(
        f"epoch {epoch:2d} | mixup loss {np.mean(seen):.3f} | val nll {F.cross_entropy(logits, yva):.3f}"
        f" | val acc {(logits.argmax(1) == yva).float().mean():.3f} | lr {opt.param_groups[0]['lr']:.1e}"
    )
