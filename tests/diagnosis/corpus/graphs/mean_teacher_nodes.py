"""Semi-supervised node classification with few labels: a student GNN and its slowly moving teacher."""

import copy
import math

import torch
import torch.nn.functional as F
from sklearn.datasets import make_blobs
from torch import nn

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)

# points of four clusters, joined to their six nearest neighbours
pts, lab = make_blobs(n_samples=360, centers=4, n_features=6, cluster_std=2.6, random_state=8)
pts = torch.tensor((pts - pts.mean(0)) / pts.std(0))
lab = torch.tensor(lab)
near = torch.cdist(pts, pts).topk(7, largest=False).indices
src = torch.arange(360).repeat_interleave(7)
dst = near.reshape(-1)

perm = torch.randperm(360)
labelled, hidden = perm[:60], perm[60:]


class SageLayer(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.own = nn.Linear(a, b)
        self.nbr = nn.Linear(a, b, bias=False)

    def forward(self, h, s, d):
        total = torch.zeros_like(h).index_add_(0, d, h[s])
        count = torch.zeros(len(h), 1).index_add_(0, d, torch.ones(len(d), 1)).clamp(min=1)
        return self.own(h) + self.nbr(total / count)


class Sage(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = SageLayer(6, 32), SageLayer(32, 4)
        self.norm = nn.LayerNorm(32)

    def forward(self, x, s, d):
        return self.l2(F.elu(self.norm(self.l1(x, s, d))), s, d)


def drop_edges(keep=0.8):
    m = torch.rand(len(src)) < keep
    return src[m], dst[m]


student = Sage()
teacher = copy.deepcopy(student)
for q in teacher.parameters():
    q.requires_grad_(False)

STEPS = 300
opt = torch.optim.Adam(student.parameters(), lr=1e-2, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda t: 0.5 * (1 + math.cos(math.pi * t / STEPS)))

for it in range(STEPS):
    noisy = pts + 0.1 * torch.randn_like(pts)
    logits = student(noisy, *drop_edges())
    with torch.no_grad():
        goal = teacher(pts, *drop_edges()).softmax(1)
    supervised = F.cross_entropy(logits[labelled], lab[labelled], label_smoothing=0.02)
    consistency = (logits.softmax(1) - goal).pow(2).sum(1).mean()
    loss = supervised + min(1.0, it / 100) * consistency

    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    sched.step()
    with torch.no_grad():
        for q, p in zip(teacher.parameters(), student.parameters()):
            q.mul_(0.98).add_(p, alpha=0.02)

    if (it + 1) % 50 == 0:
        with torch.no_grad():
            acc = [
                (m(pts, src, dst)[hidden].argmax(1) == lab[hidden]).double().mean().item() for m in (student, teacher)
            ]
        print(f"{it + 1:4d} sup {supervised:.4f} cons {consistency:.4f} student {acc[0]:.3f} teacher {acc[1]:.3f}")
