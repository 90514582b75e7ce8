"""Route support tickets to one of five desks: word embeddings, attention pooling over the words, a small classifier."""

# fault: nan_loss
import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split

N_DESKS, VOCAB, MAX_WORDS = 5, 200, 20


class Tickets(Dataset):
    """Most words are filler; each desk has thirty words of its own. Word id 0 is padding."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.words = np.zeros((n, MAX_WORDS), dtype=np.int64)
        self.desk = rng.integers(0, N_DESKS, size=n)
        n_words = rng.poisson(6.0, size=n).clip(0, MAX_WORDS)
        for i, k in enumerate(n_words):
            filler = rng.integers(151, VOCAB, size=k)
            own = rng.integers(1, 31, size=k) + 30 * self.desk[i]
            self.words[i, :k] = np.where(rng.random(k) < 0.5, own, filler)

    def __len__(self):
        return len(self.desk)

    def __getitem__(self, i):
        return torch.from_numpy(self.words[i]), int(self.desk[i])


class Router(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.key = nn.Linear(dim, dim)
        self.query = nn.Parameter(torch.randn(dim) / math.sqrt(dim))
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, N_DESKS))

    def forward(self, words):
        e = self.embed(words)
        score = torch.tanh(self.key(e)) @ self.query
        score = score.masked_fill(words == 0, float("-inf"))  # FAULT
        score = score.masked_fill(words == 0, -1e9)  # REPAIRED
        attn = score.softmax(dim=1)
        return self.mlp((attn.unsqueeze(2) * e).sum(dim=1))


torch.manual_seed(0)
train_set, test_set = random_split(Tickets(5000, seed=0), [4000, 1000])
train_dl = DataLoader(train_set, batch_size=40, shuffle=True)
test_dl = DataLoader(test_set, batch_size=200)
router = Router()
opt = torch.optim.Adam(router.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(3):
    router.train()
    history = []
    for words, desk in train_dl:
        opt.zero_grad()
        loss = loss_fn(router(words), desk)
        loss.backward()
        opt.step()
        history.append(loss.item())
    router.eval()
    with torch.no_grad():
        hits = sum((router(w).argmax(1) == d).sum().item() for w, d in test_dl)
    print(
        f"epoch {epoch}: first loss {history[0]:.3f}, mean {np.mean(history):.3f}, test acc {hits / len(test_set):.3f}"
    )
