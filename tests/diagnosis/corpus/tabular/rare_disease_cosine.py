"""Rare disease screening: weighted cross-entropy, AdamW and a cosine schedule down to zero."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.metrics import classification_report
from torch import nn

rng = np.random.default_rng(12)
torch.manual_seed(12)

# 5 % of the patients are ill; the illness shows in a combination of blood values
n = 10000
ill = (rng.random(n) < 0.05).astype(np.int64)
blood = rng.normal(size=(n, 14)).astype(np.float32)
mix = (rng.normal(size=(14, 14)) / np.sqrt(14)).astype(np.float32)
blood[:, :3] += 1.6 * ill[:, None]
blood[:, 3] *= 1.0 + 1.2 * ill
blood = blood @ mix + 0.05 * rng.normal(size=(n, 14)).astype(np.float32)

split = int(0.8 * n)
mean, std = blood[:split].mean(0, keepdims=True), blood[:split].std(0, keepdims=True)
blood = (blood - mean) / std
xt, yt = torch.from_numpy(blood[:split]), torch.from_numpy(ill[:split])
xv, yv = torch.from_numpy(blood[split:]), torch.from_numpy(ill[split:])

counts = torch.bincount(yt).float()
class_weights = counts.sum() / (2 * counts)
print("class weights:", [round(w, 2) for w in class_weights.tolist()])


class Screening(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(112)
        self.a = nn.Linear(14, 112)
        self.b = nn.Linear(112, 32)
        self.c = nn.Linear(32, 2)

    def forward(self, x):
        x = F.silu(self.norm(self.a(x)))
        return self.c(F.silu(self.b(x)))


model = Screening()
total_steps, batch = 600, 256
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.5 * (1 + math.cos(math.pi * s / total_steps)))

seen = 0.0
for step in range(1, total_steps + 1):
    model.train()
    i = torch.from_numpy(rng.integers(0, split, size=batch))
    loss = F.cross_entropy(model(xt[i]), yt[i], weight=class_weights)
    opt.zero_grad()
    loss.backward()
    opt.step()
    schedule.step()
    seen = loss.item() if step == 1 else 0.95 * seen + 0.05 * loss.item()
    if step % 100 == 0:
        model.eval()
        with torch.no_grad():
            val = F.cross_entropy(model(xv), yv, weight=class_weights).item()
        print(f"step {step:3d}  lr {schedule.get_last_lr()[0]:.2e}  loss {seen:.4f}  val {val:.4f}")

model.eval()
with torch.no_grad():
    print(classification_report(yv.numpy(), model(xv).argmax(1).numpy(), target_names=["healthy", "ill"]))
