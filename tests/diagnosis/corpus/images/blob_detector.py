"""Tiny one-stage detector: which cells of a 4x4 grid hold the centre of a blob? The bias starts at the object prior."""

# fault: dead_relu
import math

import torch
from torch import nn

PRIOR = 0.05


def make_scene(n, gen):
    """Images of 16x16 with one to three blobs each, and the map of cells that hold a centre."""
    grid = torch.zeros(n, 1, 4, 4)
    img = 0.15 * torch.randn(n, 1, 16, 16, generator=gen)
    axis = torch.arange(16.0)
    for i in range(n):
        for _ in range(int(torch.randint(1, 4, (1,), generator=gen))):
            cy, cx = (torch.rand(2, generator=gen) * 14 + 1).tolist()
            bump = torch.exp(-((axis[:, None] - cy) ** 2 + (axis[None, :] - cx) ** 2) / 3.0)
            img[i, 0] += 1.5 * bump
            grid[i, 0, int((cy + 0.5) // 4), int((cx + 0.5) // 4)] = 1.0
    return (img - 0.15) / 0.35, grid


def build():
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(16, 24, 3, stride=2, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(24, 32, 3, stride=2, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(32, 1, 1),
    )
    convs = [m for m in net.modules() if isinstance(m, nn.Conv2d)]
    for conv in convs:
        nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
        nn.init.zeros_(conv.bias)
    rare = convs  # FAULT
    rare = convs[-1:]  # REPAIRED
    for conv in rare:
        nn.init.constant_(conv.bias, -math.log((1 - PRIOR) / PRIOR))
    return net


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    x, t = make_scene(800, gen)
    xv, tv = make_scene(200, gen)
    net = build()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(8):
        perm = torch.randperm(len(x))
        mean = 0.0
        for b in perm.chunk(25):
            opt.zero_grad()
            loss = bce(net(x[b]), t[b])
            loss.backward()
            opt.step()
            mean += loss.item() / 25
        with torch.no_grad():
            logits = net(xv)
            found = logits > 0
            recall = (found & (tv > 0)).sum() / tv.sum()
            precision = (found & (tv > 0)).sum() / found.sum().clamp(min=1)
        print(f"{epoch}: loss {mean:.4f} val {bce(logits, tv):.4f} precision {precision:.3f} recall {recall:.3f}")


main()
