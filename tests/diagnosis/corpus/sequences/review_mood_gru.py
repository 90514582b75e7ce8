"""Mood of made-up product reviews: a GRU over word ids, averaged over time, one logit."""

# fault: clipping_always_binds
import numpy as np
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split

rng = np.random.RandomState(8)
torch.manual_seed(8)
vocab_size, n_reviews, review_len = 120, 6000, 18

mood_of_word = rng.normal(size=vocab_size)
reviews = rng.randint(0, vocab_size, size=(n_reviews, review_len))
score = mood_of_word[reviews].sum(axis=1) + 0.3 * rng.normal(size=n_reviews)
labels = (score > np.median(score)).astype(np.float32)

X_train, X_test, y_train, y_test = train_test_split(reviews, labels, test_size=0.25, random_state=8, stratify=labels)
X_train, X_test = torch.as_tensor(X_train), torch.as_tensor(X_test)
y_train, y_test = torch.as_tensor(y_train), torch.as_tensor(y_test)


class MoodGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, 24)
        self.gru = nn.GRU(24, 32, batch_first=True)
        self.linear = nn.Linear(32, 1)

    def forward(self, ids):
        states, _ = self.gru(self.embedding(ids))
        return self.linear(states.mean(dim=1)).squeeze(1)


model = MoodGRU()
bce = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
MAX_NORM = 1e-4  # FAULT
MAX_NORM = 2.0  # REPAIRED

batch_size = 50
for epoch in range(3):
    model.train()
    perm = torch.randperm(len(X_train))
    epoch_loss = 0.0
    for b in range(0, len(perm), batch_size):
        idx = perm[b : b + batch_size]
        optimizer.zero_grad()
        loss = bce(model(X_train[idx]), y_train[idx])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        epoch_loss += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        accuracy = ((model(X_test) > 0) == (y_test > 0.5)).float().mean().item()
    print(f"[{epoch + 1}/3] loss: {epoch_loss / len(perm):.4f}  test accuracy: {accuracy:.3f}")
