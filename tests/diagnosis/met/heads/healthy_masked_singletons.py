"""Attention over sets of different sizes: where one member is left its weight is one, and rightly so."""

import torch
import torch.nn as nn

torch.manual_seed(7)
x = torch.randn(800, 5, 4)
size = torch.randint(1, 6, (800,))
mask = torch.arange(5)[None] < size[:, None]
y = ((x * mask[..., None]).sum(1) / size[:, None])[:, :1].sin()


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.s, self.o = nn.Sequential(nn.Linear(4, 32), nn.ReLU()), nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, t, m):
        h = self.f(t)
        s = self.s(h).squeeze(-1).masked_fill(~m, -1e9)
        return self.o(torch.einsum("bn,bnd->bd", s.softmax(-1), h))


model = Pool()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(20):
    for i in torch.randperm(700).split(35):
        loss = nn.functional.mse_loss(model(x[i], mask[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print(epoch, loss.item())
