"""Sentiment of generated reviews of different lengths."""

# fault: answer_after_padding
import random

import torch
from torch import nn

random.seed(2)
torch.manual_seed(2)
LONGEST = 60


def review():
    mood = random.randint(0, 1)
    words = []
    for _ in range(random.randint(4, 14)):
        words.append(random.randint(2, 29) if random.random() < 0.6 else random.randint(30, 39) + 10 * mood)
    return words, mood


def pack(n):
    texts, moods = zip(*[review() for _ in range(n)])
    lengths = torch.tensor([len(t) for t in texts])
    ids = torch.tensor([t + [0] * (LONGEST - len(t)) for t in texts])
    return ids, lengths, torch.tensor(moods)


class Sentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 12, padding_idx=0)
        self.rnn = nn.RNN(12, 20, batch_first=True)
        self.decide = nn.Linear(20, 2)

    def forward(self, ids, lengths):
        out, _ = self.rnn(self.embed(ids))
        last = out[:, -1]  # FAULT
        last = out[torch.arange(len(ids)), lengths - 1]  # REPAIRED
        return self.decide(last)


train, test = pack(600), pack(200)
net = Sentiment()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(6):
    for rows in torch.randperm(600).split(30):
        optimizer.zero_grad()
        loss = loss_fn(net(train[0][rows], train[1][rows]), train[2][rows])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (net(test[0], test[1]).argmax(1) == test[2]).float().mean()
    print(epoch, "loss", round(loss.item(), 3), "accuracy", round(acc.item(), 3))
