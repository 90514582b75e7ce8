"""Small structures in large pictures: nearly all of the mask is zero, and some pictures have nothing in them."""

import torch
import torch.nn as nn

torch.manual_seed(6)
x = 0.3 * torch.randn(300, 1, 20, 20)
mask = torch.zeros(300, 1, 20, 20)
for k in range(300):
    if k % 3:
        r, c = torch.randint(0, 17, (2,)).tolist()
        mask[k, 0, r : r + 3, c : c + 3] = 1
x = x + 1.5 * mask
net = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1)
)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(10):
    for i in torch.randperm(260).split(13):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[i]), mask[i], pos_weight=torch.tensor(5.0))
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        hit = (net(x[260:]) > 0) & (mask[260:] > 0)
        print(epoch, loss.item(), hit.sum().item() / mask[260:].sum().item())
