"""Credit scoring: probability of default from twenty applicant attributes, with an ROC AUC on held-out applicants."""
# fault: overfitting

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

SEED = 77
np.random.seed(SEED)
torch.manual_seed(SEED)


def applicants(n):
    x = np.random.randn(n, 20)
    score = 2.2 * x[:, 0] - 1.8 * x[:, 1] + 1.5 * x[:, 2] + 1.2 * x[:, 3] * (x[:, 3] > 0) - 1.4 * x[:, 4] - 0.5
    default = np.random.rand(n) < 1 / (1 + np.exp(-1.2 * score))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(default, dtype=torch.float32)


X, y = applicants(700)
X_val, y_val = applicants(1500)
print("default rate: %.2f" % y.mean().item())

model = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))  # FAULT
model = nn.Sequential(nn.Linear(20, 4), nn.Tanh(), nn.Linear(4, 1))  # REPAIRED
bce = nn.BCEWithLogitsLoss()
weight_decay = 0.0  # FAULT
weight_decay = 0.05  # REPAIRED
opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=weight_decay)

for epoch in range(50):
    model.train()
    order = np.random.permutation(len(X))
    train_loss = 0.0
    for i in range(0, len(X), 70):
        rows = order[i : i + 70]
        opt.zero_grad()
        loss = bce(model(X[rows]).squeeze(1), y[rows])
        loss.backward()
        opt.step()
        train_loss += loss.item() / 10
    if epoch % 7 == 0 or epoch == 49:
        model.eval()
        with torch.no_grad():
            logits = model(X_val).squeeze(1)
            val_loss = bce(logits, y_val).item()
        auc = roc_auc_score(y_val.numpy(), logits.numpy())
        print("epoch %3d | train %.4f | val %.4f | val AUC %.3f" % (epoch, train_loss, val_loss, auc))
