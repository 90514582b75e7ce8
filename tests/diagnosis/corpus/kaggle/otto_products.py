"""Multi-class product classification (count features), early stopping and reduce-on-plateau."""
# fault: weight_decay_too_strong

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

CFG = dict(seed=17, epochs=14, batch=100, lr=2e-3, hidden=96, patience=4)
CFG["weight_decay"] = 20.0  # FAULT
CFG["weight_decay"] = 1e-2  # REPAIRED

torch.manual_seed(CFG["seed"])

raw, label = make_classification(
    n_samples=4000, n_features=30, n_informative=14, n_redundant=4, n_classes=6, class_sep=1.6, random_state=CFG["seed"]
)
counts = np.floor(np.exp(raw / 2.0) * 3)  # skewed, non-negative, like counts
feats = np.log1p(counts)
X_train, X_valid, y_train, y_valid = train_test_split(feats, label, test_size=0.25, stratify=label, random_state=1)
mean, std = X_train.mean(0), X_train.std(0) + 1e-6
X_train = torch.as_tensor((X_train - mean) / std, dtype=torch.float32)
X_valid = torch.as_tensor((X_valid - mean) / std, dtype=torch.float32)
y_train, y_valid = torch.as_tensor(y_train), torch.as_tensor(y_valid)


class TabularNet(nn.Module):
    def __init__(self, d_in, d_hidden, d_out):
        super().__init__()
        self.fc1 = nn.Linear(d_in, d_hidden)
        self.fc2 = nn.Linear(d_hidden, d_hidden // 2)
        self.head = nn.Linear(d_hidden // 2, d_out)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = self.drop(F.leaky_relu(self.fc1(x)))
        x = F.leaky_relu(self.fc2(x))
        return self.head(x)


model = TabularNet(X_train.shape[1], CFG["hidden"], 6)
opt = torch.optim.AdamW(model.parameters(), lr=CFG["lr"], weight_decay=CFG["weight_decay"])
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)

best_loss, best_state, bad = np.inf, None, 0
for epoch in range(CFG["epochs"]):
    model.train()
    tr_loss = 0.0
    for batch in torch.randperm(len(X_train)).split(CFG["batch"]):
        loss = F.cross_entropy(model(X_train[batch]), y_train[batch])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        tr_loss += loss.item() * len(batch) / len(X_train)

    model.eval()
    with torch.no_grad():
        out = model(X_valid)
        va_loss = F.cross_entropy(out, y_valid).item()
        acc = (out.argmax(1) == y_valid).float().mean().item()
    sched.step(va_loss)
    print(f"{epoch:>3} | {tr_loss:.4f} | {va_loss:.4f} | acc {acc:.4f}")
    if va_loss < best_loss - 1e-4:
        best_loss, best_state, bad = va_loss, copy.deepcopy(model.state_dict()), 0
    else:
        bad += 1
        if bad >= CFG["patience"]:
            print("early stop")
            break

model.load_state_dict(best_state)
print(f"best valid logloss: {best_loss:.4f}")
