"""Contrastive learning of sets: two random halves of the same point cloud should meet, with a momentum encoder."""

import copy

import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize

torch.manual_seed(19)


def scenes(n, points=32):
    """every scene is a mixture of three blobs at its own places"""
    blobs = torch.rand(n, 3, 2) * 4 - 2
    which = torch.randint(3, (n, points))
    return blobs.gather(1, which[..., None].expand(-1, -1, 2)) + 0.1 * torch.randn(n, points, 2)


def halves(x):
    order = torch.rand(x.shape[:2]).argsort(1)[..., None].expand_as(x)
    x = x.gather(1, order)
    return x[:, : x.shape[1] // 2], x[:, x.shape[1] // 2 :]


class SetEncoder(nn.Module):
    def __init__(self, width=64, out=16):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(2, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.rho = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, out))

    def forward(self, x):
        h = self.phi(x)
        return normalize(self.rho(torch.cat([h.mean(1), h.amax(1)], -1)), dim=-1)


student = SetEncoder()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)

opt = torch.optim.Adam(student.parameters(), lr=3e-3)
TAU, DECAY = 0.1, 0.97


def logits(a, b):
    with torch.no_grad():
        key = teacher(b)
    return student(a) @ key.T / TAU


for step in range(300):
    a, b = halves(scenes(64))
    target = torch.arange(64)
    loss = cross_entropy(logits(a, b), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(student.parameters(), teacher.parameters()):
            q.lerp_(p, 1 - DECAY)
    if step % 60 == 0:
        print(f"step {step}: InfoNCE {loss.item():.3f}")

student.eval()
with torch.no_grad():
    a, b = halves(scenes(200))
    top1 = (logits(a, b).argmax(1) == torch.arange(200)).float().mean()
print(f"InfoNCE {loss.item():.3f}, retrieval of the other half among 200: {top1:.3f}")
