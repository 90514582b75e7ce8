"""A rate that begins at exactly zero, warms up, and ends at zero, as large trainings do."""

import math

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(9)
digits = load_digits(return_X_y=True)
x, y = torch.tensor(digits[0], dtype=torch.float32) / 16, torch.tensor(digits[1])
model = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Dropout(0.1), nn.Linear(96, 10))
opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05)
steps, warm = 400, 40


def factor(step):
    return step / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / (steps - warm)))


sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
for step in range(steps):
    model.train()
    i = torch.randint(1400, (64,))
    loss = nn.functional.cross_entropy(model(x[i]), y[i])
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 100 == 99:
        model.eval()
        with torch.no_grad():
            print(step, loss.item(), (model(x[1400:]).argmax(1) == y[1400:]).float().mean().item())
