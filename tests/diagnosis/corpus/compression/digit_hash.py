"""Learns 10-bit hash codes of the scikit-learn digits so that a linear reader can tell the digit from the bits."""

# fault: broken_graph
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(77)
X, y = load_digits(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
mean, scale = X_tr.mean(0), X_tr.std(0).clip(1.0)
X_tr = torch.tensor((X_tr - mean) / scale, dtype=torch.float32)
X_te = torch.tensor((X_te - mean) / scale, dtype=torch.float32)
y_tr, y_te = torch.tensor(y_tr), torch.tensor(y_te)
BITS = 10


class Hasher(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, BITS))
        self.reader = nn.Linear(BITS, 10)

    def bits(self, x):
        h = torch.tanh(self.encoder(x))
        code = torch.from_numpy(np.where(h.detach().numpy() > 0, 1.0, -1.0).astype(np.float32))
        return code  # FAULT
        return h + (code - h).detach()  # REPAIRED

    def forward(self, x):
        return self.reader(self.bits(x))


hasher = Hasher()
optimizer = torch.optim.Adam(hasher.parameters(), lr=3e-3)
loss_function = nn.CrossEntropyLoss()

for epoch in range(16):
    hasher.train()
    perm = torch.randperm(len(X_tr))
    epoch_loss = 0.0
    for i in range(0, len(perm), 48):
        idx = perm[i : i + 48]
        loss = loss_function(hasher(X_tr[idx]), y_tr[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(idx)
    if epoch % 3 == 0:
        print(f"Epoch {epoch:02d} - loss {epoch_loss / len(perm):.4f}")

hasher.eval()
with torch.no_grad():
    accuracy = (hasher(X_te).argmax(1) == y_te).float().mean().item()
    used = len(torch.unique(hasher.bits(X_te), dim=0))
print(f"test accuracy from {BITS} bits: {accuracy:.3f}, distinct codes used: {used}")
