"""Friedman's first regression problem with a tanh network and RMSprop."""
# fault: constant_init

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split


class FriedmanNet(nn.Module):
    def __init__(self, n_features=10, hidden=(192, 96)):
        super().__init__()
        self.l1 = nn.Linear(n_features, hidden[0])
        self.l2 = nn.Linear(hidden[0], hidden[1])
        self.l3 = nn.Linear(hidden[1], 1)
        self.reset()

    def reset(self):
        for m in (self.l1, self.l2, self.l3):
            nn.init.constant_(m.weight, 0.02)  # FAULT
            nn.init.xavier_uniform_(m.weight)  # REPAIRED
            nn.init.zeros_(m.bias)

    def forward(self, x):
        h = torch.tanh(self.l1(x))
        h = torch.tanh(self.l2(h))
        return self.l3(h).squeeze(1)


def batches(x, y, size):
    idx = np.random.permutation(len(x))
    for s in range(0, len(x) - size + 1, size):
        yield x[idx[s : s + size]], y[idx[s : s + size]]


def main(seed=0):
    np.random.seed(seed)
    torch.manual_seed(seed)
    X, y = make_friedman1(n_samples=4000, n_features=10, noise=0.5, random_state=seed)
    X = (X - 0.5) * np.sqrt(12.0)
    X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=seed)
    m, s = y_tr.mean(), y_tr.std()
    X_tr, X_te = torch.tensor(X_tr).float(), torch.tensor(X_te).float()
    t_tr = torch.tensor((y_tr - m) / s).float()

    net = FriedmanNet()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, alpha=0.95)
    criterion = nn.MSELoss()
    for epoch in range(19):
        losses = []
        for xb, tb in batches(X_tr, t_tr, 64):
            optimizer.zero_grad()
            loss = criterion(net(xb), tb)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if epoch % 3 == 0:
            with torch.no_grad():
                score = r2_score(y_te, net(X_te).numpy() * s + m)
            print("epoch", epoch, "mse", round(float(np.mean(losses)), 4), "test R2", round(score, 3))


if __name__ == "__main__":
    main()
