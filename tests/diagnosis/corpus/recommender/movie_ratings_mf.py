"""Matrix factorisation with user and item biases on movie ratings (synthetic, MovieLens-like)."""
# fault: lr_too_low

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

N_USERS, N_MOVIES, K = 250, 160, 5


def make_ratings(seed=11):
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(N_USERS, 3))
    genre = rng.normal(size=(N_MOVIES, 3))
    score = 3.4 + 0.4 * rng.normal(size=(N_USERS, 1)) + 0.5 * rng.normal(size=(1, N_MOVIES))
    score = score + 0.55 * taste @ genre.T + 0.25 * rng.normal(size=(N_USERS, N_MOVIES))
    seen = rng.random((N_USERS, N_MOVIES)) < 0.4
    u, m = np.nonzero(seen)
    r = np.clip(np.round(score[u, m] * 2) / 2, 0.5, 5.0)
    return torch.from_numpy(u), torch.from_numpy(m), torch.from_numpy(r).float()


class BiasedMF(nn.Module):
    def __init__(self, n_users, n_movies, k, mean):
        super().__init__()
        self.P = nn.Embedding(n_users, k)
        self.Q = nn.Embedding(n_movies, k)
        self.bu = nn.Embedding(n_users, 1)
        self.bm = nn.Embedding(n_movies, 1)
        nn.init.normal_(self.P.weight, std=0.1)
        nn.init.normal_(self.Q.weight, std=0.1)
        nn.init.zeros_(self.bu.weight)
        nn.init.zeros_(self.bm.weight)
        self.register_buffer("mean", mean)

    def forward(self, u, m):
        dot = (self.P(u) * self.Q(m)).sum(dim=1)
        return self.mean + self.bu(u).squeeze(1) + self.bm(m).squeeze(1) + dot


torch.manual_seed(11)
dataset = TensorDataset(*make_ratings())
n_val = len(dataset) // 5
train_set, val_set = random_split(dataset, [len(dataset) - n_val, n_val])
train_loader = DataLoader(train_set, batch_size=256, shuffle=True)
val_loader = DataLoader(val_set, batch_size=1024)

mean = dataset.tensors[2][train_set.indices].mean()
mf = BiasedMF(N_USERS, N_MOVIES, K, mean)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(mf.parameters(), lr=2e-6, weight_decay=1e-5)  # FAULT
optimizer = torch.optim.Adam(mf.parameters(), lr=2e-2, weight_decay=1e-5)  # REPAIRED

for epoch in range(1, 9):
    mf.train()
    running = 0.0
    for u, m, r in train_loader:
        optimizer.zero_grad()
        loss = criterion(mf(u, m), r)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(r)
    mf.eval()
    se = 0.0
    with torch.no_grad():
        for u, m, r in val_loader:
            se += ((mf(u, m) - r) ** 2).sum().item()
    print(f"epoch {epoch:2d}  train mse {running / len(train_set):.4f}  val rmse {(se / n_val) ** 0.5:.4f}")
