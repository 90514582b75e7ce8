"""Slot attention: slots compete for places, so that the softmax is over the slots and then normalised over places."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
centres = torch.randn(900, 3, 2) * 2
points = (centres[:, torch.arange(18) % 3] + 0.1 * torch.randn(900, 18, 2)).detach()


class SlotAttention(nn.Module):
    def __init__(self, dim=32, slots=3):
        super().__init__()
        self.init = nn.Parameter(torch.randn(slots, dim) * 0.5)
        self.lift = nn.Sequential(nn.Linear(2, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.gru, self.norm, self.out = nn.GRUCell(dim, dim), nn.LayerNorm(dim), nn.Linear(dim, 2)

    def forward(self, x):
        h = self.lift(x)
        k, v = self.k(h), self.v(h)
        s = self.init.expand(len(x), -1, -1)
        for _ in range(2):
            attn = F.softmax(torch.einsum("bsd,bnd->bsn", self.q(self.norm(s)), k) / 32**0.5, dim=1) + 1e-6
            attn = attn / attn.sum(-1, keepdim=True)
            s = self.gru((attn @ v).flatten(0, 1), s.flatten(0, 1)).view_as(s)
        return self.out(s)


model = SlotAttention()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(250):
    i = torch.randint(900, (32,))
    made = model(points[i])
    loss = torch.cdist(points[i], made).amin(2).mean() + torch.cdist(made, points[i]).amin(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, loss.item())
