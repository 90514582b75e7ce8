"""Predictions of all batches are kept, to look at them after the training."""
# fault: graph_growth

import torch
import torch.nn as nn

torch.manual_seed(2)
x = torch.randn(1200, 10)
y = (x[:, 0] * x[:, 1] > 0).long()
net = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
kept = []
for epoch in range(8):
    for i in torch.randperm(1200).split(40):
        out = net(x[i])
        probabilities = out.softmax(1)
        loss = nn.functional.cross_entropy(out, y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        kept.append(probabilities)  # FAULT
        kept.append(probabilities.detach())  # REPAIRED
print(torch.cat(kept).amax(1).mean().item())
