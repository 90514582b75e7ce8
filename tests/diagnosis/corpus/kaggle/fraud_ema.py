"""Card fraud: 8 % positives, weighted loss, gradient accumulation, averaged weights, early stopping on PR-AUC."""

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(31)

X, y = make_classification(
    n_samples=6000,
    n_features=16,
    n_informative=8,
    n_clusters_per_class=2,
    weights=[0.92],
    class_sep=1.8,
    flip_y=0.005,
    random_state=31,
)
X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.3, stratify=y, random_state=31)
med, iqr = np.median(X_tr, axis=0), np.subtract(*np.percentile(X_tr, [75, 25], axis=0))
X_tr = torch.tensor((X_tr - med) / iqr, dtype=torch.float32).clamp(-5, 5)
X_va = torch.tensor((X_va - med) / iqr, dtype=torch.float32).clamp(-5, 5)
t_tr = torch.tensor(y_tr, dtype=torch.float32)

net = nn.Sequential(
    nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0)
)
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.95))
pos_weight = ((t_tr == 0).sum() / (t_tr == 1).sum()).sqrt()
criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)

ACCUM, BATCH, PATIENCE = 2, 32, 4
best_ap, wait = 0.0, 0
for epoch in range(10):
    net.train()
    order = torch.randperm(len(X_tr))
    n_batches = len(order) // BATCH // ACCUM * ACCUM
    epoch_loss = 0.0
    opt.zero_grad()
    for k in range(n_batches):
        rows = order[k * BATCH : (k + 1) * BATCH]
        loss = criterion(net(X_tr[rows]), t_tr[rows])
        (loss / ACCUM).backward()
        epoch_loss += loss.item() / n_batches
        if (k + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()
            ema.update_parameters(net)

    ema.eval()
    with torch.no_grad():
        p = torch.sigmoid(ema(X_va)).numpy()
    ap, auc = average_precision_score(y_va, p), roc_auc_score(y_va, p)
    print(f"epoch {epoch} loss {epoch_loss:.4f} PR-AUC {ap:.4f} ROC-AUC {auc:.4f}")
    if ap > best_ap + 1e-3:
        best_ap, wait = ap, 0
    else:
        wait += 1
        if wait == PATIENCE:
            print("no improvement, stopping")
            break
print(f"best PR-AUC {best_ap:.4f}")
