"""A target net, a stopped gradient and a straight-through code: what is detached is meant to be."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
x = torch.randn(1000, 8) @ torch.randn(8, 12)


class VQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 12))
        self.codes = nn.Embedding(32, 4)
        nn.init.uniform_(self.codes.weight, -0.3, 0.3)

    def forward(self, t):
        z = self.enc(t)
        index = torch.cdist(z, self.codes.weight).argmin(1)
        q = self.codes(index)
        commit = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return self.dec(z + (q - z).detach()), commit


x = x / x.std()
model = VQ()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(400):
    i = torch.randint(1000, (64,))
    rebuilt, commit = model(x[i])
    loss = F.mse_loss(rebuilt, x[i]) + commit
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 80 == 0:
        print(step, loss.item())
