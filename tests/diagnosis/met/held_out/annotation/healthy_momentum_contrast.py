"""Momentum contrast: the right key always stands first among the logits, so that every target is zero."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)
centres = torch.randn(10, 16) * 2
encoder = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))
momentum_encoder = copy.deepcopy(encoder).requires_grad_(False)
queue = F.normalize(torch.randn(256, 16), dim=1)
opt = torch.optim.SGD(encoder.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for step in range(300):
    base = centres[torch.randint(10, (64,))] + 0.5 * torch.randn(64, 16)
    one, two = base + 0.3 * torch.randn_like(base), base + 0.3 * torch.randn_like(base)
    q = F.normalize(encoder(one), dim=1)
    with torch.no_grad():
        for p, m in zip(encoder.parameters(), momentum_encoder.parameters()):
            m.mul_(0.99).add_(p, alpha=0.01)
        k = F.normalize(momentum_encoder(two), dim=1)
    positive = (q * k).sum(1, keepdim=True)
    logits = torch.cat([positive, q @ queue.T], 1) / 0.2
    loss = F.cross_entropy(logits, torch.zeros(64, dtype=torch.long))
    opt.zero_grad()
    loss.backward()
    opt.step()
    queue = torch.cat([k, queue])[:256]
    if step % 60 == 59:
        print(step, loss.item())
