"""Two-layer graph convolution that assigns the nodes of a random social network to their communities."""
# fault: softmax_before_ce

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 11
N_COMM = 5
PER_COMM = 60
FEATS = 20

rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)

# stochastic block model
labels = np.repeat(np.arange(N_COMM), PER_COMM)
rng.shuffle(labels)
n = len(labels)
same = labels[:, None] == labels[None, :]
prob = np.where(same, 0.10, 0.012)
upper = np.triu(rng.random((n, n)) < prob, k=1)
A = (upper | upper.T).astype(np.float32) + np.eye(n, dtype=np.float32)
d = A.sum(1)
A_hat = torch.from_numpy(A / np.sqrt(np.outer(d, d)))

centres = rng.normal(size=(N_COMM, FEATS))
X = 0.6 * centres[labels] + rng.normal(size=(n, FEATS))
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.from_numpy(labels)

order = rng.permutation(n)
train_idx = torch.from_numpy(order[:150])
test_idx = torch.from_numpy(order[150:])


class GCN(nn.Module):
    def __init__(self, n_in, n_hid, n_out, p=0.3):
        super().__init__()
        self.lin1 = nn.Linear(n_in, n_hid)
        self.lin2 = nn.Linear(n_hid, n_out)
        self.p = p

    def forward(self, x, adj):
        h = F.relu(self.lin1(adj @ x))
        h = F.dropout(h, self.p, training=self.training)
        h = self.lin2(adj @ h)
        return F.softmax(h, dim=1)  # FAULT
        return h  # REPAIRED


gcn = GCN(FEATS, 48, N_COMM)
optimizer = torch.optim.SGD(gcn.parameters(), lr=0.03, momentum=0.9, weight_decay=5e-4)
criterion = nn.CrossEntropyLoss()

for epoch in range(150):
    gcn.train()
    optimizer.zero_grad()
    out = gcn(X, A_hat)
    loss = criterion(out[train_idx], y[train_idx])
    loss.backward()
    optimizer.step()

    if epoch % 25 == 0 or epoch == 149:
        gcn.eval()
        with torch.no_grad():
            guess = gcn(X, A_hat).argmax(1)
        acc_tr = (guess[train_idx] == y[train_idx]).float().mean()
        acc_te = (guess[test_idx] == y[test_idx]).float().mean()
        print(f"epoch {epoch:03d}  loss {loss.item():.4f}  train acc {acc_tr:.3f}  test acc {acc_te:.3f}")
