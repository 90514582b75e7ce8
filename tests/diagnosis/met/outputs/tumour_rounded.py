"""Malignant or benign: a binary classifier on standardised measurements."""

# fault: sigmoid_before_bce_logits
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

torch.manual_seed(0)
np.random.seed(0)
raw = load_breast_cancer()
order = np.random.permutation(len(raw.target))
X = StandardScaler().fit_transform(raw.data)[order].astype("float32")
Y = (1 - raw.target)[order].astype("float32").reshape(-1, 1)
X_train, X_test = torch.from_numpy(X[:420]), torch.from_numpy(X[420:])
Y_train, Y_test = torch.from_numpy(Y[:420]), torch.from_numpy(Y[420:])


class BinaryNet(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.layer_1 = nn.Linear(inputs, 32)
        self.layer_2 = nn.Linear(32, 16)
        self.layer_out = nn.Linear(16, 1)
        self.relu = nn.ReLU()
        self.batchnorm = nn.BatchNorm1d(32)

    def forward(self, v):
        v = self.batchnorm(self.relu(self.layer_1(v)))
        v = self.relu(self.layer_2(v))
        return torch.sigmoid(self.layer_out(v))  # FAULT
        return self.layer_out(v)  # REPAIRED


net = BinaryNet(X.shape[1])
loss_fn = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(15):
    net.train()
    total = 0
    for start in range(0, 420, 30):
        xb, yb = X_train[start : start + 30], Y_train[start : start + 30]
        opt.zero_grad()
        loss = loss_fn(net(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        predicted = torch.round(torch.sigmoid(net(X_test)))
    print(f"{epoch:02d} loss {total / 14:.4f} accuracy {(predicted == Y_test).float().mean():.3f}")
