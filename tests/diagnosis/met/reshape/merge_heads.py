"""Heads of an attention are joined again and go through the output layer."""
# fault: view_mixes_axes

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
x = torch.randn(700, 12, 16)
y = torch.stack([x[:, :, 0].amax(1), x[:, :, 1].amin(1)], 1)


class Block(nn.Module):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim))

    def forward(self, t):
        b, n, c = t.shape
        q, k, v = (z.reshape(b, n, self.heads, -1).transpose(1, 2) for z in self.qkv(t).chunk(3, -1))
        z = F.scaled_dot_product_attention(q, k, v)
        z = z.reshape(b, n, c)  # FAULT
        z = z.transpose(1, 2).reshape(b, n, c)  # REPAIRED
        t = t + self.out(z)
        return t + self.mlp(t)


model = nn.Sequential(Block(), Block())
head = nn.Linear(16, 2)
opt = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=2e-3)
for epoch in range(12):
    for i in torch.randperm(600).split(30):
        loss = F.mse_loss(head(model(x[i]).mean(1)), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
