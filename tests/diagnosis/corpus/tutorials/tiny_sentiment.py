"""Sentiment of made-up restaurant reviews with word embeddings and a GRU."""
# fault: unmasked_padding

import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

random.seed(3)
torch.manual_seed(3)

GOOD = "great tasty lovely fresh friendly delicious perfect superb".split()
BAD = "awful bland rude cold stale terrible greasy slow".split()
NEUTRAL = "the a food waiter was and we ordered soup bread table very with it then wine fish there some came".split()
MAX_LEN = 100


def write_review():
    n = random.choice([3, 4, 5, 6, 7, 8, 9, 10, 12, 20])
    label = random.randint(0, 1)
    words = [random.choice(NEUTRAL) for _ in range(n)]
    for position in random.sample(range(n), max(1, n // 4)):
        words[position] = random.choice(GOOD if label else BAD)
    return words, float(label)


reviews = [write_review() for _ in range(1600)]
vocab = {"<pad>": 0}
for word in NEUTRAL + GOOD + BAD:
    vocab[word] = len(vocab)


def encode(batch):
    ids = torch.zeros(len(batch), MAX_LEN, dtype=torch.long)
    for row, (words, _) in enumerate(batch):
        ids[row, : len(words)] = torch.tensor([vocab[w] for w in words])
    return ids, torch.tensor([label for _, label in batch])


train_loader = DataLoader(reviews[:1200], batch_size=24, shuffle=True, collate_fn=encode)
test_loader = DataLoader(reviews[1200:], batch_size=100, collate_fn=encode)


class Sentiment(nn.Module):
    def __init__(self, n_words, dim=16, hidden=24):
        super().__init__()
        self.embedding = nn.Embedding(n_words, dim)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.output = nn.Linear(hidden, 1)

    def forward(self, tokens):
        states, _ = self.gru(self.embedding(tokens))
        final = states[:, -1]  # FAULT
        lengths = (tokens != 0).sum(dim=1)  # REPAIRED
        final = states[torch.arange(len(tokens)), lengths - 1]  # REPAIRED
        return self.output(final).squeeze(1)


model = Sentiment(len(vocab))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.004)

for epoch in range(4):
    model.train()
    total = 0.0
    for tokens, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()

    model.eval()
    hits = 0
    with torch.no_grad():
        for tokens, labels in test_loader:
            hits += ((model(tokens) > 0).float() == labels).sum().item()
    print(f"Epoch {epoch + 1} | train loss {total / len(train_loader):.3f} | test acc {hits / 400:.3f}")
