"""Words are hidden and guessed; all other targets are -100. The input is seen from both sides."""

import torch
import torch.nn as nn

torch.manual_seed(8)
rows = (torch.arange(12)[None] * torch.randint(1, 4, (1000, 1)) + torch.randint(0, 9, (1000, 1))) % 19
MASK = 19


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(20, 48), nn.Embedding(12, 48)
        layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.1, batch_first=True)
        self.enc, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(48, 20)

    def forward(self, ids):
        return self.head(self.enc(self.tok(ids) + self.pos.weight))


model = Bert()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
for step in range(200):
    ids = rows[torch.randint(1000, (32,))]
    hidden = torch.rand(ids.shape) < 0.2
    labels = ids.masked_fill(~hidden, -100)
    loss = loss_fn(model(ids.masked_fill(hidden, MASK)).view(-1, 20), labels.view(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, loss.item())
