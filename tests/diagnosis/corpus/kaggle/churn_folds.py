"""Customer churn notebook: 4-fold MLP on tabular data, out-of-fold AUC and log loss."""
# fault: train_in_eval_mode

import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

SEED = 2021
np.random.seed(SEED)
torch.manual_seed(SEED)

# ------------------------------------------------------------------ "train.csv"
N = 1600
tenure = np.random.gamma(2.0, 12.0, N)
monthly = np.random.normal(65, 20, N)
calls = np.random.poisson(2.0, N).astype(float)
contract = np.random.randint(0, 3, N)
region = np.random.randint(0, 12, N)
survey = np.random.randn(N, 24)  # satisfaction survey, already standardised
score = -0.08 * (tenure - 24) + 0.05 * (monthly - 65) + 0.9 * (calls - 2) * (contract == 0) - 0.8 * contract + 0.4
target = (score + np.random.logistic(0, 0.35, N) > 0).astype(np.float32)

# ------------------------------------------------------------------ features
num = np.stack([np.log1p(tenure), monthly, calls, monthly * tenure], axis=1)
cat = np.concatenate([np.eye(3)[contract], np.eye(12)[region], survey], axis=1)


def get_model(n_in):
    return nn.Sequential(
        nn.Linear(n_in, 64),
        nn.BatchNorm1d(64),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(64, 24),
        nn.BatchNorm1d(24),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(24, 1),
    )


def predict(model, x):
    model.eval()
    with torch.no_grad():
        return torch.sigmoid(model(x)).squeeze(1).numpy()


oof = np.zeros(N)
skf = StratifiedKFold(n_splits=4, shuffle=True, random_state=SEED)
for fold, (tr, va) in enumerate(skf.split(num, target)):
    mu, sd = num[tr].mean(0), num[tr].std(0)
    feats = np.concatenate([(num - mu) / sd, cat], axis=1).astype(np.float32)
    x_tr, x_va = torch.from_numpy(feats[tr]), torch.from_numpy(feats[va])
    y_tr = torch.from_numpy(target[tr])

    model = get_model(feats.shape[1])
    model.train()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-2)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(12):
        model.train()  # REPAIRED
        perm = torch.randperm(len(tr))
        for i in range(0, len(tr) - 63, 64):
            b = perm[i : i + 64]
            loss = bce(model(x_tr[b]).squeeze(1), y_tr[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
        auc = roc_auc_score(target[va], predict(model, x_va))
        if epoch % 4 == 3:
            print(f"fold {fold} epoch {epoch} loss {loss.item():.4f} val auc {auc:.4f}")
    oof[va] = predict(model, x_va)

print(f"CV AUC: {roc_auc_score(target, oof):.4f}  CV logloss: {log_loss(target, oof):.4f}")
