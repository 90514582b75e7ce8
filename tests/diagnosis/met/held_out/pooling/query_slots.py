"""Learned queries read a set of points; the class is which shape they were drawn from."""
# fault: wrong_softmax_dim

import torch
from torch import nn

torch.manual_seed(11)
g = torch.Generator().manual_seed(11)
kinds = torch.randint(3, (900,), generator=g)
t = torch.rand(900, 20, generator=g) * 6.283
radius = 1 + 0.5 * torch.cos(t * (kinds[:, None] + 2))
points = torch.stack([radius * t.cos(), radius * t.sin()], -1) + 0.05 * torch.randn(900, 20, 2, generator=g)


class Slots(nn.Module):
    def __init__(self, dim=32, slots=6):
        super().__init__()
        self.lift = nn.Sequential(nn.Linear(2, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.queries = nn.Parameter(torch.randn(slots, dim) * 0.2)
        self.out = nn.Sequential(nn.Linear(slots * dim, 64), nn.ReLU(), nn.Linear(64, 3))

    def forward(self, x):
        h = self.lift(x)
        scores = torch.einsum("sd,bnd->bsn", self.queries, h) / h.shape[-1] ** 0.5
        weights = scores.softmax(dim=0)  # FAULT
        weights = scores.softmax(dim=-1)  # REPAIRED
        return self.out(torch.einsum("bsn,bnd->bsd", weights, h).flatten(1))


net = Slots()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for step in range(300):
    i = torch.randint(750, (48,))
    loss = criterion(net(points[i]), kinds[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 99:
        net.eval()
        with torch.no_grad():
            print(step, loss.item(), (net(points[750:]).argmax(1) == kinds[750:]).float().mean().item())
        net.train()
