"""Encoder with a narrow code followed by a classifier head; the code is put on the unit sphere in between."""
# fault: broken_graph

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(12)
rs = np.random.RandomState(12)

data = load_digits()
features = (data.data / 16.0).astype("float32")
features -= features.mean()
features /= features.std()
idx = rs.permutation(len(features))
tr, va = idx[:1400], idx[1400:]


def unit_length(v):
    v = v.detach().numpy()  # FAULT
    v = v / np.linalg.norm(v, axis=1, keepdims=True)  # FAULT
    v = torch.from_numpy(v)  # FAULT
    v = v / v.norm(dim=1, keepdim=True)  # REPAIRED
    return v


class Encoder(nn.Module):
    def __init__(self, code=5):
        super().__init__()
        self.lin1 = nn.Linear(64, 48)
        self.act = nn.LeakyReLU()
        self.lin2 = nn.Linear(48, code)

    def forward(self, x):
        return self.lin2(self.act(self.lin1(x)))


class Head(nn.Module):
    def __init__(self, code=5, n_classes=10):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(code, 32), nn.LeakyReLU(), nn.Linear(32, n_classes))

    def forward(self, c):
        return self.mlp(c)


encoder, head = Encoder(), Head()
loss_fn = nn.CrossEntropyLoss()
optim = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3)


def accuracy(which):
    encoder.eval(), head.eval()
    with torch.no_grad():
        logits = head(unit_length(encoder(torch.from_numpy(features[which]))))
    return (logits.argmax(1).numpy() == data.target[which]).mean()


for epoch in range(12):
    encoder.train(), head.train()
    rs.shuffle(tr)
    losses = []
    for start in range(0, len(tr), 50):
        sel = tr[start : start + 50]
        code = unit_length(encoder(torch.from_numpy(features[sel])))
        loss = loss_fn(head(code), torch.from_numpy(data.target[sel]))
        optim.zero_grad()
        loss.backward()
        optim.step()
        losses.append(loss.item())
    if (epoch + 1) % 3 == 0:
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f} train {accuracy(tr):.3f} valid {accuracy(va):.3f}")
