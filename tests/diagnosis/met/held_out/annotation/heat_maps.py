"""Where is the bright spot? Masks drawn as grey pictures of 0 and 255."""
# fault: target_scale

import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(3)
torch.manual_seed(3)
images = rng.normal(0, 0.3, (300, 1, 16, 16)).astype(np.float32)
masks = np.zeros((300, 1, 16, 16), np.uint8)
for i in range(300):
    r, c = rng.integers(2, 12, 2)
    images[i, 0, r : r + 4, c : c + 4] += 1.5
    masks[i, 0, r : r + 4, c : c + 4] = 255
x = torch.from_numpy(images)
y = torch.from_numpy(masks).float()  # FAULT
y = torch.from_numpy(masks).float() / 255  # REPAIRED

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1)
)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(10):
    for i in torch.randperm(300).split(20):
        loss = criterion(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
