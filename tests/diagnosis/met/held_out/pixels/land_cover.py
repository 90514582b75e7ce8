"""Per-pixel classes of small tiles with a fully convolutional net."""
# fault: view_mixes_axes

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
g = torch.Generator().manual_seed(5)
ground = F.interpolate(torch.randn(200, 4, 4, 4, generator=g), size=16, mode="bilinear").argmax(1)
palette = torch.randn(4, 3, generator=g)
tiles = palette[ground].permute(0, 3, 1, 2) + 0.4 * torch.randn(200, 3, 16, 16, generator=g)

net = nn.Sequential(
    nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 4, 1)
)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(12):
    for i in torch.randperm(160).split(16):
        logits = net(tiles[i])
        flat = logits.reshape(-1, 4)  # FAULT
        flat = logits.permute(0, 2, 3, 1).reshape(-1, 4)  # REPAIRED
        loss = F.cross_entropy(flat, ground[i].view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, loss.item(), (net(tiles[160:]).argmax(1) == ground[160:]).float().mean().item())
