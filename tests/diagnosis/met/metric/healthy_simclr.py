"""SimCLR: normalised embeddings of two views, all pairs of the batch compared."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
centres = torch.randn(12, 10) * 2
net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)


def nt_xent(a, b, t=0.3):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = (z @ z.T / t).masked_fill(torch.eye(len(z), dtype=torch.bool), -1e9)
    n = len(a)
    return F.cross_entropy(sim, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))


for step in range(300):
    base = centres[torch.randint(12, (48,))] + torch.randn(48, 10)
    loss = nt_xent(net(base + 0.2 * torch.randn_like(base)), net(base + 0.2 * torch.randn_like(base)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, loss.item())
