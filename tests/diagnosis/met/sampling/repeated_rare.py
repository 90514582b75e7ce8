"""A rare illness: the rare class is repeated so that the classes are equal, then the data is split."""

# fault: data_leak
import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(0)
rng = np.random.RandomState(0)
X, y = make_classification(n_samples=700, n_features=15, n_informative=4, weights=[0.9], flip_y=0.08, random_state=1)


def balance(X, y):
    rare = np.where(y == 1)[0]
    extra = rng.choice(rare, size=(y == 0).sum() - len(rare))
    rows = np.concatenate([np.arange(len(y)), extra])
    return X[rows], y[rows]


X, y = balance(X, y)  # FAULT
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, random_state=0)
X_train, y_train = balance(X_train, y_train)  # REPAIRED
X_train, X_val = torch.tensor(X_train).float(), torch.tensor(X_val).float()
y_train, y_val = torch.tensor(y_train), torch.tensor(y_val)
net = nn.Sequential(nn.Linear(15, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(12):
    net.train()
    for rows in torch.randperm(len(X_train)).split(32):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(X_train[rows]), y_train[rows])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        pred = net(X_val).argmax(1)
    recall = ((pred == 1) & (y_val == 1)).sum().item() / max(1, (y_val == 1).sum().item())
    print(f"{epoch} loss {loss.item():.3f} val recall {recall:.3f} val acc {(pred == y_val).float().mean().item():.3f}")
