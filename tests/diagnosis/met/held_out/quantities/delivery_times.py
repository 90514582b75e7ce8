"""Quantiles of delivery times with the pinball loss, written out."""
# fault: target_broadcast

import torch
from torch import nn

torch.manual_seed(21)
g = torch.Generator().manual_seed(21)
features = torch.randn(1500, 6, generator=g)
minutes = 2.0 + features[:, 0] - 0.7 * features[:, 1] + 0.5 * torch.randn(1500, generator=g).abs()


def pinball(prediction, target, tau=0.8):
    error = target - prediction
    return torch.max(tau * error, (tau - 1) * error).mean()


model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    for i in torch.randperm(1200).split(40):
        prediction = model(features[i])  # FAULT
        prediction = model(features[i]).squeeze(1)  # REPAIRED
        loss = pinball(prediction, minutes[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
