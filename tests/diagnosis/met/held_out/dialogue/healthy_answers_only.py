"""Question and answer in one row, the loss on the answer alone; the answer repeats a part of the question."""

import torch
import torch.nn as nn

torch.manual_seed(71)
SEP, END = 10, 11
names = torch.randint(0, 10, (1200, 4))
rows = torch.cat([names, torch.full((1200, 1), SEP), names, torch.full((1200, 1), END)], 1)
inputs, targets = rows[:, :-1], rows[:, 1:].clone()
targets[:, :4] = -100


class GPT(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tok, self.pos = nn.Embedding(12, dim), nn.Embedding(9, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 12)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return self.head(self.blocks(self.tok(ids) + self.pos(torch.arange(ids.shape[1])), mask=mask, is_causal=True))


model = GPT()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(6):
    model.train()
    for i in torch.randperm(1000).split(50):
        loss = nn.functional.cross_entropy(model(inputs[i]).reshape(-1, 12), targets[i].reshape(-1), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        guess = model(inputs[1000:]).argmax(-1)
    known = targets[1000:] != -100
    print(epoch, loss.item(), (guess[known] == targets[1000:][known]).float().mean().item())
