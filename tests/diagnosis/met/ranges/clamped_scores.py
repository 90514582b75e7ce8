"""Spam by word counts. The scores are cut to (0, 1) by hand, so that binary cross-entropy takes them."""
# fault: output_range

import torch
import torch.nn as nn

torch.manual_seed(4)
words = torch.poisson(torch.rand(1000, 30) * 2)
spam = (words[:, :6].sum(1) + torch.randn(1000) > words[:, 6:12].sum(1)).float()
words = (words - words.mean(0)) / words.std(0)
model = nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Linear(40, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
criterion = nn.BCELoss()
for epoch in range(15):
    for batch in torch.randperm(800).split(40):
        score = model(words[batch]).squeeze(1)
        p = score.clamp(1e-6, 1 - 1e-6)  # FAULT
        p = torch.sigmoid(score).clamp(1e-6, 1 - 1e-6)  # REPAIRED
        loss = criterion(p, spam[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        guess = model(words[800:]).squeeze(1)
    print(epoch, loss.item(), ((guess > 0.5) == (spam[800:] > 0.5)).float().mean().item())
