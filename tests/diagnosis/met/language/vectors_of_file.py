"""Topic of a bag of words; the embedding starts from vectors that a file would give."""

# fault: frozen_params
import torch
from torch import nn

torch.manual_seed(0)
VOCAB, TOPICS = 400, 8
topic = torch.randint(0, TOPICS, (1500,))
own = torch.randint(0, 50, (1500, 6)) + 50 * topic[:, None]
other = torch.randint(0, VOCAB, (1500, 18))
docs = torch.cat([own, other], 1)
vectors = torch.randn(VOCAB, 10) * 0.1


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors)  # FAULT
        self.embedding = nn.Embedding.from_pretrained(vectors, freeze=False)  # REPAIRED
        self.fc = nn.Linear(10, TOPICS)

    def forward(self, ids):
        return self.fc(self.embedding(ids).mean(1))


bag = Bag()
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, bag.parameters()), lr=0.02)
for epoch in range(10):
    for i in torch.randperm(1200).split(40):
        loss = nn.functional.cross_entropy(bag(docs[i]), topic[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, loss.item(), (bag(docs[1200:]).argmax(1) == topic[1200:]).float().mean().item())
