"""Outlines of discs; the score by which they are judged is used as the loss."""
# fault: uphill_steps

import torch
from torch import nn

torch.manual_seed(19)


def soft_dice(prediction, target, smooth=1.0):
    p, t = prediction.flatten(1), target.flatten(1)
    return ((2 * (p * t).sum(1) + smooth) / (p.sum(1) + t.sum(1) + smooth)).mean()


class SmallUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU())
        self.inner = nn.Sequential(
            nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(24, 12, 2, 2)
        )
        self.up = nn.Sequential(nn.Conv2d(24, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1), nn.Sigmoid())

    def forward(self, x):
        a = self.down(x)
        return self.up(torch.cat([a, self.inner(a)], 1))


yy, xx = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
centre, radius = torch.rand(400, 2) * 14 + 5, torch.rand(400) * 3 + 3
masks = (((yy - centre[:, :1, None]) ** 2 + (xx - centre[:, 1:, None]) ** 2) < radius[:, None, None] ** 2).float()[
    :, None
]
images = masks * 0.8 + 0.3 * torch.randn(400, 1, 24, 24)
model = SmallUNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    for i in torch.randperm(400).split(20):
        loss = soft_dice(model(images[i]), masks[i])  # FAULT
        loss = 1 - soft_dice(model(images[i]), masks[i])  # REPAIRED
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
