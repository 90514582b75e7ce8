"""Regress the orientation of a bar in a noisy image as (cos 2a, sin 2a), with a small residual network."""

# fault: unregistered_params
import math

import torch
from torch import nn


def render(n):
    a = torch.rand(n) * math.pi
    off = torch.rand(n) * 4 - 2
    c = torch.linspace(-5, 5, 11)
    y, x = torch.meshgrid(c, c, indexing="ij")
    dist = x * torch.sin(a)[:, None, None] - y * torch.cos(a)[:, None, None] - off[:, None, None]
    img = torch.exp(-(dist**2)) * 2.5 - 0.5 + 0.4 * torch.randn(n, 11, 11)
    return img[:, None], torch.stack([torch.cos(2 * a), torch.sin(2 * a)], dim=1)


class Residual(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.a = nn.Conv2d(ch, ch, 3, padding=1)
        self.b = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, h):
        return h + self.b(torch.relu(self.a(torch.relu(h))))


class BarNet(nn.Module):
    def __init__(self, ch=12, depth=3):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, stride=2)
        self.blocks = [Residual(ch) for _ in range(depth)]  # FAULT
        self.blocks = nn.ModuleList([Residual(ch) for _ in range(depth)])  # REPAIRED
        self.head = nn.Linear(ch, 2)

    def forward(self, img):
        h = self.stem(img)
        for block in self.blocks:
            h = block(h)
        return self.head(torch.relu(h).mean(dim=(2, 3)))


torch.manual_seed(8)
train_img, train_t = render(2000)
test_img, test_t = render(400)
f = BarNet()
print("parameters:", sum(p.numel() for p in f.parameters()))
opt = torch.optim.Adam(f.parameters(), lr=3e-3)

step = 0
while step < 400:
    for idx in torch.randperm(len(train_img)).split(50):
        err = ((f(train_img[idx]) - train_t[idx]) ** 2).mean()
        opt.zero_grad()
        err.backward()
        opt.step()
        step += 1
    with torch.no_grad():
        out = f(test_img)
        test_err = ((out - test_t) ** 2).mean()
        diff = torch.atan2(out[:, 1], out[:, 0]) - torch.atan2(test_t[:, 1], test_t[:, 0])
        deg = torch.rad2deg(torch.remainder(diff + math.pi, 2 * math.pi) - math.pi).abs().median() / 2
    print(f"step {step}: train mse {err:.4f}, test mse {test_err:.4f}, median error {deg:.2f} degrees")
