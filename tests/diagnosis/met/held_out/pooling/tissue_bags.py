"""Bags of patches, one label per bag: attention pooling after Ilse et al."""
# fault: softmax_of_one

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
g = torch.Generator().manual_seed(3)
bags = torch.randn(600, 12, 10, generator=g)
labels = (torch.rand(600, generator=g) < 0.5).float()
for i in range(600):
    if labels[i]:
        bags[i, torch.randint(12, (1,), generator=g)] += 2.0


class MIL(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.score = nn.Sequential(nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 1))
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        h = self.embed(x)
        a = F.softmax(self.score(h), dim=2)  # FAULT
        a = F.softmax(self.score(h), dim=1)  # REPAIRED
        pooled = torch.bmm(a.transpose(1, 2), h).squeeze(1)
        return self.head(pooled).squeeze(-1)


model = MIL()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(20):
    for idx in torch.randperm(480).split(32):
        loss = F.binary_cross_entropy_with_logits(model(bags[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = ((model(bags[480:]) > 0).float() == labels[480:]).float().mean()
    print(epoch, round(loss.item(), 4), round(acc.item(), 3))
