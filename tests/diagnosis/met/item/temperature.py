"""Contrast of two views with a temperature that is to be learnt."""
# fault: broken_graph

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
a = torch.randn(900, 10)
b = a @ torch.randn(10, 14) * 0.3 + 0.1 * torch.randn(900, 14)


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 16)), nn.Linear(14, 16)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x, y):
        u, v = F.normalize(self.one(x), dim=1), F.normalize(self.two(y), dim=1)
        scale = self.logit_scale.exp().item()  # FAULT
        scale = self.logit_scale.exp()  # REPAIRED
        return scale * u @ v.T


model = Pairs()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(300):
    i = torch.randint(900, (48,))
    logits = model(a[i], b[i])
    labels = torch.arange(48)
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, loss.item(), model.logit_scale.item())
