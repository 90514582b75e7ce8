"""Sentiment of made-up hotel reviews: averaged word embeddings and a small head."""

# fault: sigmoid_before_bce_logits
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

random.seed(4)
torch.manual_seed(4)

GOOD = "lovely clean friendly quiet cosy bright superb tasty generous spotless".split()
BAD = "dirty noisy rude cramped stale broken overpriced bland gloomy smelly".split()
THINGS = "room staff breakfast bed lobby view bathroom pool bar garden".split()
FILLER = "the was and we found our rather very quite indeed".split()
VOCAB = {w: i for i, w in enumerate(GOOD + BAD + THINGS + FILLER)}
LENGTH = 12


def review():
    label = random.random() < 0.5
    n_opinion = 5
    words = []
    for _ in range(n_opinion):
        same = random.random() < 0.85
        words.append(random.choice(GOOD if same == label else BAD))
    while len(words) < LENGTH:
        words.append(random.choice(THINGS + FILLER))
    random.shuffle(words)
    return [VOCAB[w] for w in words], float(label)


pairs = [review() for _ in range(3000)]
X = torch.tensor([p[0] for p in pairs])
Y = torch.tensor([p[1] for p in pairs])
train_dl = DataLoader(TensorDataset(X[:2400], Y[:2400]), batch_size=32, shuffle=True)
test_dl = DataLoader(TensorDataset(X[2400:], Y[2400:]), batch_size=200)


class ReviewNet(nn.Module):
    def __init__(self, n_words, dim=24):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim)
        self.fc1 = nn.Linear(dim, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, tokens):
        h = self.emb(tokens).mean(dim=1)
        h = torch.tanh(self.fc1(h))
        return torch.sigmoid(self.fc2(h)).squeeze(1)  # FAULT
        return self.fc2(h).squeeze(1)  # REPAIRED


model = ReviewNet(len(VOCAB))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(5):
    model.train()
    total = 0.0
    for tokens, label in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(tokens), label)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(label)
    model.eval()
    right = 0
    with torch.no_grad():
        for tokens, label in test_dl:
            prob = torch.sigmoid(model(tokens))
            right += ((prob > 0.5).float() == label).sum().item()
    print(f"epoch {epoch + 1}: train loss {total / 2400:.4f}  test accuracy {right / 600:.3f}")
