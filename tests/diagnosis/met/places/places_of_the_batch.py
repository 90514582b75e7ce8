"""Does 0 come before 1? Positions are added as in the tutorial, but here batches come first."""
# fault: batch_mixing

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=200):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)  # FAULT
        pe[:, 0, 0::2] = torch.sin(position * div)  # FAULT
        pe[:, 0, 1::2] = torch.cos(position * div)  # FAULT
        pe = torch.zeros(1, max_len, d_model)  # REPAIRED
        pe[0, :, 0::2] = torch.sin(position * div)  # REPAIRED
        pe[0, :, 1::2] = torch.cos(position * div)  # REPAIRED
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]  # FAULT
        return x + self.pe[:, : x.size(1)]  # REPAIRED


class OrderModel(nn.Module):
    def __init__(self, vocab=30, d=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.positions = PositionalEncoding(d)
        self.encoder = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(d, 2)

    def forward(self, tokens):
        return self.head(self.encoder(self.positions(self.embed(tokens))).mean(1))


torch.manual_seed(20)
tokens = torch.randint(2, 30, (1600, 10))
first = torch.rand(1600, 10).argsort(1)[:, :2]
tokens[torch.arange(1600), first[:, 0]] = 0
tokens[torch.arange(1600), first[:, 1]] = 1
label = (first[:, 0] < first[:, 1]).long()
model = OrderModel()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    for i in torch.randperm(1600).split(40):
        loss = nn.functional.cross_entropy(model(tokens[i]), label[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
