"""Sentiment of reviews from bags of words, labels made of star ratings."""
# fault: constant_target

import torch
import torch.nn as nn

torch.manual_seed(7)
g = torch.Generator().manual_seed(7)
stars = torch.randint(1, 6, (1000,), generator=g)
tone = torch.randn(30, generator=g)
words = (torch.rand(1000, 30, generator=g) < torch.sigmoid(0.6 * (stars[:, None] - 3) * tone - 1)).float()
label = (stars / 10).long()  # FAULT
label = (stars > 3).long()  # REPAIRED

model = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(12):
    for i in torch.randperm(800).split(40):
        loss = nn.functional.cross_entropy(model(words[i]), label[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(words[800:]).argmax(1) == label[800:]).float().mean().item())
