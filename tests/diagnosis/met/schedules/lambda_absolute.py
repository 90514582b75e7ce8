"""A warm-up for a small tagger; the lambda gives the rate itself."""
# fault: lr_too_low

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(2)
words = torch.randint(0, 40, (900, 12))
tags = (words % 4 + (words.roll(1, 1) % 2)) % 4
tags[:, 0] = words[:, 0] % 4


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(40, 24)
        self.rnn = nn.GRU(24, 32, batch_first=True)
        self.out = nn.Linear(32, 4)

    def forward(self, w):
        return self.out(self.rnn(self.emb(w))[0])


base, warm = 3e-3, 20
model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=base)


def rate(step):
    return base * min(1.0, (step + 1) / warm)  # FAULT
    return min(1.0, (step + 1) / warm)  # REPAIRED


schedule = LambdaLR(optimizer, rate)
for epoch in range(12):
    for i in torch.randperm(800).split(40):
        loss = nn.functional.cross_entropy(model(words[i]).flatten(0, 1), tags[i].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    print(epoch, loss.item())
