"""Damaged parts among many; missing labels are filled in."""
# fault: constant_target

import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(4)
torch.manual_seed(4)
x = rng.normal(size=(900, 7)).astype(np.float32)
label = (x[:, 0] + x[:, 1] > 0).astype(np.float32)
label[rng.random(900) < 0.1] = np.nan
label = np.where(label == np.nan, label, 0.0)  # FAULT
label = np.where(np.isnan(label), 0.0, label)  # REPAIRED
x, y = torch.from_numpy(x), torch.tensor(label, dtype=torch.float32)
net = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(15):
    for i in torch.randperm(900).split(45):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[i]).squeeze(1), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
