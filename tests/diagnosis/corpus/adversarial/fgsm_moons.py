"""Adversarial training (FGSM) of a small classifier on two moons; clean and attacked accuracy on a test set."""
# fault: sigmoid_before_bce_logits

import torch
import torch.nn as nn
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.manual_seed(0)
X, y = make_moons(n_samples=1600, noise=0.12, random_state=0)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=400, random_state=0)
scaler = StandardScaler().fit(X_tr)
X_tr = torch.tensor(scaler.transform(X_tr), dtype=torch.float32)
X_te = torch.tensor(scaler.transform(X_te), dtype=torch.float32)
y_tr = torch.tensor(y_tr, dtype=torch.float32)
y_te = torch.tensor(y_te, dtype=torch.float32)


class RobustNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.fc1 = nn.Linear(2, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return torch.sigmoid(self.fc3(x)).squeeze(1)  # FAULT
        return self.fc3(x).squeeze(1)  # REPAIRED


def fgsm(model, criterion, x, y, eps=0.1):
    x = x.clone().requires_grad_(True)
    (grad,) = torch.autograd.grad(criterion(model(x), y), x)
    return (x + eps * grad.sign()).detach()


def accuracy(model, x, y):
    with torch.no_grad():
        return ((model(x) > 0).float() == y).float().mean().item()


model = RobustNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(16):
    model.train()
    perm = torch.randperm(len(X_tr))
    total = 0.0
    for start in range(0, len(perm), 60):
        idx = perm[start : start + 60]
        xb, yb = X_tr[idx], y_tr[idx]
        x_adv = fgsm(model, criterion, xb, yb)
        loss = 0.5 * criterion(model(xb), yb) + 0.5 * criterion(model(x_adv), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 4 == 3:
        model.eval()
        attacked = fgsm(model, criterion, X_te, y_te)
        clean_acc, adv_acc = accuracy(model, X_te, y_te), accuracy(model, attacked, y_te)
        print(f"epoch {epoch + 1}: loss {total / len(X_tr):.4f}, clean acc {clean_acc:.3f}, attacked acc {adv_acc:.3f}")
