"""Locate one object in a noisy picture: network with two heads, a class (disc, box, triangle) and a bounding box."""

import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("locate")


def render(n, size=20):
    grid = torch.arange(size).float() + 0.5
    gy, gx = grid.view(1, size, 1), grid.view(1, 1, size)
    kind = torch.randint(0, 3, (n,))
    w = torch.empty(n).uniform_(6, 11)
    h = torch.empty(n).uniform_(6, 11)
    cx = w / 2 + torch.rand(n) * (size - w)
    cy = h / 2 + torch.rand(n) * (size - h)
    u = (gx - cx.view(-1, 1, 1)) / (w.view(-1, 1, 1) / 2)
    v = (gy - cy.view(-1, 1, 1)) / (h.view(-1, 1, 1) / 2)
    disc = u**2 + v**2 < 1
    box = (u.abs() < 1) & (v.abs() < 1)
    triangle = (v.abs() < 1) & (u.abs() < (v + 1) / 2)
    mask = torch.stack([disc, box, triangle], dim=1)[torch.arange(n), kind].float()
    images = mask * torch.empty(n, 1, 1).uniform_(1.0, 1.6) - 0.25 + 0.15 * torch.randn(n, size, size)
    boxes = torch.stack([cx, cy, w, h], dim=1) / size
    return images.unsqueeze(1), kind, boxes


class Locator(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 10, 3, padding=1),
            nn.BatchNorm2d(10),
            nn.SiLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(10, 24, 3, padding=1),
            nn.BatchNorm2d(24),
            nn.SiLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(24 * 25, 64),
            nn.SiLU(),
        )
        self.kind = nn.Linear(64, 3)
        self.box = nn.Linear(64, 4)

    def forward(self, x):
        z = self.trunk(x)
        return self.kind(z), torch.sigmoid(self.box(z))


def iou(a, b):
    lo = torch.maximum(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    hi = torch.minimum(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    inter = (hi - lo).clamp(min=0).prod(1)
    return inter / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - inter)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--lr", type=float, default=4e-3)
    args, _ = parser.parse_known_args()
    torch.manual_seed(17)

    model = Locator()
    optim = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(optim, max_lr=args.lr, total_steps=args.steps)
    for step in range(args.steps):
        images, kind, boxes = render(args.batch)
        logits, predicted = model(images)
        loss_kind = F.cross_entropy(logits, kind)
        loss_box = F.smooth_l1_loss(predicted, boxes, beta=0.1)
        loss = loss_kind + 5 * loss_box
        optim.zero_grad(set_to_none=True)
        loss.backward()
        optim.step()
        sched.step()
        if step % 50 == 0 or step == args.steps - 1:
            log.info("step %d  class %.3f  box %.4f", step, loss_kind.item(), loss_box.item())

    model.eval()
    with torch.no_grad():
        images, kind, boxes = render(500)
        logits, predicted = model(images)
    accuracy = (logits.argmax(1) == kind).float().mean().item()
    log.info("accuracy %.3f, mean IoU %.3f", accuracy, iou(predicted, boxes).mean().item())


if __name__ == "__main__":
    main()
