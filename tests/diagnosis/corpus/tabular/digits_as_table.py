"""Handwritten digits as a plain table of 64 columns, classified by a two-layer net (RMSprop, index slicing)."""
# fault: label_misalignment

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

SEED = 3
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)

data = load_digits()
features = (data.data / 16.0).astype(np.float32)
labels = data.target.astype(np.int64)

# shuffle before cutting off the hold-out part
features = features[rng.permutation(len(features))]  # FAULT
labels = labels[rng.permutation(len(labels))]  # FAULT
order = rng.permutation(len(features))  # REPAIRED
features, labels = features[order], labels[order]  # REPAIRED

n_train = 1400
x_tr, y_tr = torch.from_numpy(features[:n_train]), torch.from_numpy(labels[:n_train])
x_te, y_te = torch.from_numpy(features[n_train:]), torch.from_numpy(labels[n_train:])
x_mean = x_tr.mean(0)
x_tr, x_te = x_tr - x_mean, x_te - x_mean

clf = nn.Sequential(
    nn.Linear(64, 448),
    nn.ReLU(),
    nn.Dropout(0.4),
    nn.Linear(448, 64),
    nn.ReLU(),
    nn.Linear(64, 10),
)
opt = torch.optim.RMSprop(clf.parameters(), lr=5e-4)


def evaluate(x, y):
    clf.eval()
    with torch.no_grad():
        scores = clf(x)
    clf.train()
    acc = (scores.argmax(dim=-1) == y).float().mean().item()
    return f"{F.cross_entropy(scores, y).item():.3f} / {100 * acc:.1f}%"


bs = 28
for ep in range(1, 11):
    perm = torch.randperm(n_train)
    losses = []
    for start in range(0, n_train, bs):
        idx = perm[start : start + bs]
        loss = F.cross_entropy(clf(x_tr[idx]), y_tr[idx])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if ep % 3 == 1:
        print(f"[{ep:02d}] loss={np.mean(losses):.3f}  train {evaluate(x_tr, y_tr)}  test {evaluate(x_te, y_te)}")
