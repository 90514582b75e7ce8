"""Screen blood tests for a rare condition: 3 in 100 patients have it."""

# fault: class_imbalance
import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import balanced_accuracy_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

SEED = 5
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)

# iron, white cells, enzyme, pulse, temperature; the ill share their pattern with some healthy people
n = 6000
table = rng.normal([14.0, 7.0, 35.0, 72.0, 36.8], [1.5, 1.8, 9.0, 8.0, 0.3], size=(n, 5))
pattern = rng.random(n) < 0.12
table[pattern] += np.array([-4.0, 3.5, 25.0, 0.0, 0.3])
ill = (pattern & (rng.random(n) < 0.25)).astype(np.int64)

X_tr, X_te, y_tr, y_te = train_test_split(table, ill, test_size=0.25, random_state=SEED, stratify=ill)
scaler = StandardScaler().fit(X_tr)
X_tr = torch.from_numpy(scaler.transform(X_tr)).float()
X_te = torch.from_numpy(scaler.transform(X_te)).float()
y_tr = torch.from_numpy(y_tr)
loader = DataLoader(TensorDataset(X_tr, y_tr), batch_size=128, shuffle=True)

clf = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 2))
class_weight = len(y_tr) / (2.0 * torch.bincount(y_tr))  # REPAIRED
criterion = nn.CrossEntropyLoss(weight=class_weight)  # REPAIRED
criterion = nn.CrossEntropyLoss()  # FAULT
optimizer = torch.optim.Adam(clf.parameters(), lr=2e-3)

for epoch in range(15):
    clf.train()
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(clf(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 3 == 2:
        clf.eval()
        with torch.no_grad():
            pred = clf(X_te).argmax(1).numpy()
        print(
            f"epoch {epoch + 1:2d} loss {running / len(loader):.4f} accuracy {(pred == y_te).mean():.3f} "
            f"recall {recall_score(y_te, pred):.3f} balanced {balanced_accuracy_score(y_te, pred):.3f}"
        )
