"""Activations computed again in the backward pass, with dropout that must draw the same numbers twice."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(7)
blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Dropout(0.2)) for _ in range(4))
head = nn.Linear(16, 4)
opt = torch.optim.RMSprop([*blocks.parameters(), *head.parameters()], lr=1e-3)
x, y = torch.randn(64, 16), torch.randint(4, (64,))

for step in range(45):
    h = x.clone().requires_grad_()
    if step % 3 == 2:
        h = checkpoint_sequential(nn.Sequential(*blocks), 2, h, use_reentrant=False)
    else:
        for block in blocks:
            h = checkpoint(block, h, use_reentrant=step % 3 == 1)
    opt.zero_grad()
    loss = nn.functional.cross_entropy(head(h), y)
    loss.backward()
    opt.step()
    print(step, loss.item().hex())
