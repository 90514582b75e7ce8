"""Ill or not: one output unit, a softmax, and binary cross-entropy."""
# fault: softmax_of_one

import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

torch.manual_seed(1)
X, y = load_breast_cancer(return_X_y=True)
X = torch.tensor(StandardScaler().fit_transform(X), dtype=torch.float32)
y = torch.tensor(y, dtype=torch.float32).unsqueeze(1)
model = nn.Sequential(
    nn.Linear(30, 16),
    nn.ReLU(),
    nn.Linear(16, 1),
    nn.Softmax(dim=1),  # FAULT
    nn.Sigmoid(),  # REPAIRED
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.BCELoss()
for epoch in range(30):
    for i in torch.randperm(450).split(30):
        optimizer.zero_grad()
        loss = criterion(model(X[i]), y[i])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, loss.item(), ((model(X[450:]) > 0.5).float() == y[450:]).float().mean().item())
