"""Logistic regression on the Wisconsin breast cancer table: one linear layer, plain SGD."""

import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
X, y = load_breast_cancer(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, random_state=1, stratify=y)
scaler = StandardScaler()
X_tr = torch.tensor(scaler.fit_transform(X_tr), dtype=torch.float32)
X_te = torch.tensor(scaler.transform(X_te), dtype=torch.float32)
y_tr = torch.tensor(y_tr, dtype=torch.float32).unsqueeze(1)
y_te = torch.tensor(y_te, dtype=torch.float32).unsqueeze(1)

logreg = nn.Linear(30, 1)
nn.init.zeros_(logreg.weight)  # convex problem, zero is the usual start
nn.init.zeros_(logreg.bias)
sgd = torch.optim.SGD(logreg.parameters(), lr=0.03, weight_decay=1e-3)
objective = nn.BCEWithLogitsLoss()
loader = DataLoader(TensorDataset(X_tr, y_tr), batch_size=8, shuffle=True)

for epoch in range(50):
    for xb, yb in loader:
        sgd.zero_grad()
        objective(logreg(xb), yb).backward()
        sgd.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            tr, te = objective(logreg(X_tr), y_tr), objective(logreg(X_te), y_te)
            acc = ((logreg(X_te) > 0).float() == y_te).float().mean()
        print(f"epoch {epoch + 1:2d}  train {tr:.4f}  test {te:.4f}  test acc {acc:.3f}")

top = logreg.weight.detach().abs()[0].topk(3).indices.tolist()
print("strongest columns:", [str(load_breast_cancer().feature_names[i]) for i in top])
