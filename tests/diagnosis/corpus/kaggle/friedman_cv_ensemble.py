"""Regression competition baseline: 5-fold cross-validation, a fresh network per fold, averaged test predictions."""

import numpy as np
import torch
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(77)
torch.manual_seed(77)

X_all, y_all = make_friedman1(n_samples=2500, n_features=8, noise=0.8, random_state=77)
X, X_test, y, y_test = X_all[:2000], X_all[2000:], y_all[:2000], y_all[2000:]

FOLDS, EPOCHS, BS = 5, 10, 50


def as_tensor(a):
    return torch.tensor(a, dtype=torch.float32)


def build():
    return torch.nn.Sequential(
        torch.nn.Linear(8, 64),
        torch.nn.SiLU(),
        torch.nn.Linear(64, 32),
        torch.nn.SiLU(),
        torch.nn.Linear(32, 1),
        torch.nn.Flatten(0),
    )


oof = np.zeros(len(X))
test_pred = np.zeros(len(X_test))
for fold, (tr, va) in enumerate(KFold(FOLDS, shuffle=True, random_state=0).split(X), start=1):
    mx, sx, my, sy = X[tr].mean(0), X[tr].std(0), y[tr].mean(), y[tr].std()
    train = TensorDataset(as_tensor((X[tr] - mx) / sx), as_tensor((y[tr] - my) / sy))
    loader = DataLoader(train, batch_size=BS, shuffle=True)
    model = build()
    opt = torch.optim.AdamW(model.parameters(), lr=8e-3, weight_decay=1e-3)
    sched = CosineAnnealingLR(opt, T_max=EPOCHS * len(loader))
    for epoch in range(EPOCHS):
        model.train()
        run = 0.0
        for xb, yb in loader:
            loss = torch.mean((model(xb) - yb) ** 2)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
            run += loss.item() * len(xb)
    model.eval()
    with torch.inference_mode():
        oof[va] = model(as_tensor((X[va] - mx) / sx)).numpy() * sy + my
        test_pred += (model(as_tensor((X_test - mx) / sx)).numpy() * sy + my) / FOLDS
    print(f"fold {fold}: train mse {run / len(tr):.4f}  valid r2 {r2_score(y[va], oof[va]):.4f}")

print(f"OOF r2 {r2_score(y, oof):.4f}   test r2 {r2_score(y_test, test_pred):.4f}")
