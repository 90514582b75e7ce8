"""Which of four blobs does a point belong to?"""

# fault: label_misalignment
import numpy as np
import torch
from sklearn.datasets import make_blobs
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(12)
points, blob = make_blobs(n_samples=1000, n_features=5, centers=4, cluster_std=2.0, random_state=6)
points = (points - points.mean(0)) / points.std(0)
order = rng.permutation(1000)
points = points[order]
blob = blob[rng.permutation(1000)]  # FAULT
blob = blob[order]  # REPAIRED
x = torch.from_numpy(points.astype(np.float32))
t = torch.from_numpy(blob).long()

mlp = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(mlp.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
batch_size = 25
for epoch in range(12):
    mlp.train()
    losses = []
    for k in range(0, 800, batch_size):
        optimizer.zero_grad()
        loss = ce(mlp(x[k : k + batch_size]), t[k : k + batch_size])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    mlp.eval()
    with torch.no_grad():
        val_acc = (mlp(x[800:]).argmax(1) == t[800:]).float().mean().item()
    print(f"[{epoch}] train loss {np.mean(losses):.3f} val acc {val_acc:.3f}")
