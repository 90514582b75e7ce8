"""Nine-layer fully connected classifier for the scikit-learn digits."""
# fault: vanishing_gradient

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)

X, y = load_digits(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, random_state=1, stratify=y)
mean, std = X_tr.mean(), X_tr.std()
X_tr = torch.tensor((X_tr - mean) / std, dtype=torch.float32)
X_te = torch.tensor((X_te - mean) / std, dtype=torch.float32)
y_tr, y_te = torch.tensor(y_tr), torch.tensor(y_te)
train_loader = DataLoader(TensorDataset(X_tr, y_tr), batch_size=32, shuffle=True)


class Tower(nn.Module):
    def __init__(self, depth=9, width=128):
        super().__init__()
        layers = []
        n_in = 64
        for _ in range(depth - 1):
            layers.append(nn.Linear(n_in, width))
            layers.append(nn.Sigmoid())  # FAULT
            layers.append(nn.ReLU())  # REPAIRED
            n_in = width
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(width, 10)
        for m in self.features:
            if isinstance(m, nn.Linear):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.classifier(self.features(x))


model = Tower()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.004, momentum=0.9)

for epoch in range(7):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        acc = (model(X_te).argmax(1) == y_te).float().mean().item()
    print(f"Epoch {epoch + 1:02d}: train loss {total / len(X_tr):.4f}, test accuracy {acc:.3f}")
