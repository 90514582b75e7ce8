"""Five folds of a table of sensor readings, mean score over the folds."""
# fault: data_leak

import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold

torch.manual_seed(0)
X, Y = make_classification(n_samples=800, n_features=12, n_informative=6, flip_y=0.15, random_state=0)
X, Y = torch.tensor(X, dtype=torch.float32), torch.tensor(Y)


def build():
    return nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 2))


scores = []
model = build()  # FAULT
for train_idx, test_idx in KFold(5, shuffle=True, random_state=1).split(X):
    model = build()  # REPAIRED
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    train_idx, test_idx = torch.from_numpy(train_idx), torch.from_numpy(test_idx)
    for epoch in range(8):
        for i in train_idx[torch.randperm(len(train_idx))].split(32):
            loss = nn.functional.cross_entropy(model(X[i]), Y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
    model.eval()
    with torch.no_grad():
        scores.append((model(X[test_idx]).argmax(1) == Y[test_idx]).float().mean().item())
    model.train()
    print(scores[-1])
print(sum(scores) / len(scores))
