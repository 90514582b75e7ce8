"""An encoder with attention of several heads, written after a diagram."""
# fault: view_mixes_axes

import torch
import torch.nn as nn

torch.manual_seed(3)
ids = torch.randint(0, 12, (1000, 10))
label = (ids[:, 1:] == ids[:, :1]).any(1).long()


class MultiHead(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.h, self.d = heads, dim // heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim) for _ in range(4))

    def split(self, x):
        b, n, _ = x.shape
        return x.view(b, self.h, n, self.d)  # FAULT
        return x.view(b, n, self.h, self.d).transpose(1, 2)  # REPAIRED

    def forward(self, x):
        q, k, v = self.split(self.wq(x)), self.split(self.wk(x)), self.split(self.wv(x))
        a = torch.softmax(q @ k.transpose(-2, -1) / self.d**0.5, -1)
        return self.wo((a @ v).transpose(1, 2).reshape(x.shape))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.pos = nn.Embedding(12, 32), nn.Parameter(torch.randn(10, 32) * 0.1)
        self.att, self.n1, self.n2 = MultiHead(), nn.LayerNorm(32), nn.LayerNorm(32)
        self.ff, self.head = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)), nn.Linear(32, 2)

    def forward(self, t):
        x = self.emb(t) + self.pos
        x = x + self.att(self.n1(x))
        x = x + self.ff(self.n2(x))
        return self.head(x[:, 0])


model = Encoder()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    for i in torch.randperm(900).split(36):
        loss = nn.functional.cross_entropy(model(ids[i]), label[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(ids[900:]).argmax(1) == label[900:]).float().mean().item())
