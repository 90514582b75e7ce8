"""Blobs are to be outlined; pictures and masks are flipped at random for variety."""
# fault: label_misalignment

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(15)
random.seed(15)


class Blobs(Dataset):
    def __init__(self, n, augment):
        g = torch.Generator().manual_seed(n)
        yy, xx = torch.meshgrid(torch.arange(20.0), torch.arange(20.0), indexing="ij")
        cy, cx = (torch.rand(n, 2, generator=g) * 14 + 3).T
        r = torch.rand(n, generator=g) * 2 + 2
        inside = ((yy - cy[:, None, None]) ** 2 + (xx - cx[:, None, None]) ** 2) < r[:, None, None] ** 2
        self.masks = inside.float()[:, None]
        self.images = self.masks + 0.4 * torch.randn(n, 1, 20, 20, generator=g)
        self.augment = augment

    def __len__(self):
        return len(self.images)

    def flip(self, picture, turn):
        return picture.flip(turn) if turn else picture

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if self.augment:
            image = self.flip(image, random.choice([None, (1,), (2,), (1, 2)]))  # FAULT
            mask = self.flip(mask, random.choice([None, (1,), (2,), (1, 2)]))  # FAULT
            turn = random.choice([None, (1,), (2,), (1, 2)])  # REPAIRED
            image, mask = self.flip(image, turn), self.flip(mask, turn)  # REPAIRED
        return image, mask


net = nn.Sequential(
    nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 1, 1)
)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
train, test = DataLoader(Blobs(500, True), batch_size=20, shuffle=True), DataLoader(Blobs(100, False), batch_size=50)
for epoch in range(6):
    net.train()
    for image, mask in train:
        loss = F.binary_cross_entropy_with_logits(net(image), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        score = sum(((net(a) > 0) == (b > 0.5)).float().mean() for a, b in test) / len(test)
    print(epoch, loss.item(), score.item())
