"""Click-through-rate model for banner ads: one embedding per categorical field, then an MLP."""
# fault: class_imbalance

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import balanced_accuracy_score, recall_score, roc_auc_score
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

SEED = 5
FIELDS = {"segment": 10, "ad_category": 8, "daypart": 6, "device": 3}
np.random.seed(SEED)
torch.manual_seed(SEED)


def impressions(n):
    cols = [np.random.randint(0, size, n) for size in FIELDS.values()]
    segment, category, daypart, device = cols
    interested = (segment % 5 == category % 5) & (daypart >= 3)
    p_click = np.where(interested, 0.28, 0.0012) * np.where(device == 2, 0.8, 1.0)
    clicked = np.random.random(n) < p_click
    return np.stack(cols, axis=1), clicked.astype(np.float32)


class FieldNet(nn.Module):
    def __init__(self, sizes, dim=4, hidden=24):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(s, dim) for s in sizes])
        self.fc1 = nn.Linear(dim * len(sizes), hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        z = torch.cat([table(x[:, i]) for i, table in enumerate(self.tables)], dim=1)
        z = F.silu(self.fc1(z))
        z = F.silu(self.fc2(z))
        return self.out(z).squeeze(1)


X, y = impressions(40_000)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=SEED)
print(f"click rate in train: {y_tr.mean():.4f}")
train_ds = TensorDataset(torch.as_tensor(X_tr), torch.as_tensor(y_tr))
weights = np.where(y_tr == 1, 0.5 / y_tr.sum(), 0.5 / (1 - y_tr).sum())  # REPAIRED
sampler = torch.utils.data.WeightedRandomSampler(torch.as_tensor(weights), num_samples=len(y_tr))  # REPAIRED
loader = DataLoader(train_ds, batch_size=256, sampler=sampler)  # REPAIRED
loader = DataLoader(train_ds, batch_size=256, shuffle=True)  # FAULT

net = FieldNet(list(FIELDS.values()))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
bce = nn.BCEWithLogitsLoss()

for epoch in range(4):
    net.train()
    losses = []
    for xb, yb in loader:
        loss = bce(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        prob = torch.sigmoid(net(torch.as_tensor(X_te))).numpy()
    hat = prob > 0.5
    print(
        f"epoch {epoch}: loss {np.mean(losses):.4f}  acc {(hat == y_te).mean():.4f}  "
        f"recall {recall_score(y_te, hat):.3f}  bal.acc {balanced_accuracy_score(y_te, hat):.3f}  "
        f"auc {roc_auc_score(y_te, prob):.3f}"
    )
