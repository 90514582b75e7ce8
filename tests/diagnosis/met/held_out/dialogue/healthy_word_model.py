"""A word-level language model after the PyTorch example: batches side by side, LSTM, dropout, tied weights."""

import math

import torch
import torch.nn as nn

torch.manual_seed(1111)
g = torch.Generator().manual_seed(1)
chance = torch.rand(40, 40, generator=g) ** 8
ids, s = [], 0
for _ in range(6000):
    s = int(torch.multinomial(chance[s], 1, generator=g))
    ids.append(s)
corpus = torch.tensor(ids)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


train_data, val_data = batchify(corpus[:5000], 10), batchify(corpus[5000:], 10)


class RNNModel(nn.Module):
    def __init__(self, ntoken=40, ninp=32):
        super().__init__()
        self.drop, self.encoder = nn.Dropout(0.2), nn.Embedding(ntoken, ninp)
        self.rnn, self.decoder = nn.LSTM(ninp, ninp, 2, dropout=0.2), nn.Linear(ninp, ntoken)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        return self.decoder(self.drop(output)).view(-1, 40), hidden


def repackage(h):
    return tuple(v.detach() for v in h)


model, criterion, lr, bptt = RNNModel(), nn.CrossEntropyLoss(), 20.0, 20
for epoch in range(14):
    model.train()
    hidden = (torch.zeros(2, 10, 32), torch.zeros(2, 10, 32))
    for i in range(0, train_data.size(0) - 1, bptt):
        n = min(bptt, len(train_data) - 1 - i)
        data, targets = train_data[i : i + n], train_data[i + 1 : i + 1 + n].reshape(-1)
        model.zero_grad()
        hidden = repackage(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
    model.eval()
    with torch.no_grad():
        hidden = (torch.zeros(2, 10, 32), torch.zeros(2, 10, 32))
        output, _ = model(val_data[:-1], hidden)
        print(epoch, math.exp(criterion(output, val_data[1:].reshape(-1)).item()))
