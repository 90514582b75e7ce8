"""A tiny decoder that predicts the next sign of made-up sentences; the mask is applied by hand."""
# fault: causal_leak

import torch
import torch.nn as nn

torch.manual_seed(70)
g = torch.Generator().manual_seed(70)
table = torch.rand(12, 12, generator=g) ** 6
text, s = [], 0
for _ in range(5000):
    s = int(torch.multinomial(table[s], 1, generator=g))
    text.append(s)
text = torch.tensor(text)


class Decoder(nn.Module):
    def __init__(self, dim=32, length=24):
        super().__init__()
        self.tok, self.pos = nn.Embedding(12, dim), nn.Embedding(length, dim)
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))
        self.ff = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, dim))
        self.n1, self.n2, self.head = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.Linear(dim, 12)

    def forward(self, ids):
        t = ids.shape[1]
        h = self.tok(ids) + self.pos(torch.arange(t))
        z = self.n1(h)
        att = self.q(z) @ self.k(z).transpose(1, 2) / 32**0.5
        mask = torch.tril(torch.ones(t, t))
        att = torch.softmax(att, -1) * mask  # FAULT
        att = torch.softmax(att.masked_fill(mask == 0, float("-inf")), -1)  # REPAIRED
        h = h + self.o(att @ self.v(z))
        return self.head(h + self.ff(self.n2(h)))


model = Decoder()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(300):
    i = torch.randint(4900, (16,))
    x, y = torch.stack([text[k : k + 24] for k in i]), torch.stack([text[k + 1 : k + 25] for k in i])
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, loss.item())
