"""Sums of two numbers written out, as a sequence: digits of the question are masked by -1, the answer is copied in part."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)
a, b = torch.randint(0, 100, (2000,)), torch.randint(0, 100, (2000,))
c = a + b
digits = torch.stack([a // 10, a % 10, b // 10, b % 10, c // 100, c // 10 % 10, c % 10], 1)
x, y = digits[:, :-1], digits[:, 1:].clone()
y[:, :3] = -1


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(10, 48), nn.Parameter(torch.zeros(6, 48))
        layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(48, 10)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return self.head(self.body(self.tok(ids) + self.pos, mask=mask))


model = Adder()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(150):
    i = torch.randint(2000, (64,))
    loss = F.cross_entropy(model(x[i]).flatten(0, 1), y[i].flatten(), ignore_index=-1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
