"""Two tasks on listings of flats: the price (regression) and the district (4 classes), one shared trunk."""
# fault: optimizer_missing_params

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_blobs
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset


def listings(n, seed):
    rng = np.random.RandomState(seed)
    centers = rng.uniform(-3, 3, size=(16, 2))
    coords, blob = make_blobs(n, centers=centers, cluster_std=0.4, random_state=seed)
    district = blob % 4
    area, floor, age = rng.gamma(6, 12, n), rng.randint(0, 9, n), rng.uniform(0, 80, n)
    price = np.array([1.0, 1.6, 0.7, 1.2])[district] * area / 40 + 0.4 * np.cos(age / 12) + 0.05 * floor
    price = price + 0.1 * rng.randn(n)
    return np.c_[coords, area, floor, age], price, district


torch.manual_seed(17)
X, price, district = listings(4000, seed=17)
X_tr, X_va, p_tr, p_va, d_tr, d_va = train_test_split(X, price, district, test_size=0.2, random_state=17)
scaler = StandardScaler().fit(X_tr)
p_mean, p_std = p_tr.mean(), p_tr.std()


def tensors(X, p, d):
    return (
        torch.tensor(scaler.transform(X), dtype=torch.float32),
        torch.tensor((p - p_mean) / p_std, dtype=torch.float32),
        torch.tensor(d),
    )


train_loader = DataLoader(TensorDataset(*tensors(X_tr, p_tr, d_tr)), batch_size=64, shuffle=True)
x_va, p_va, d_va = tensors(X_va, p_va, d_va)

trunk = nn.Sequential(
    nn.Linear(5, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 32), nn.LayerNorm(32), nn.GELU()
)
heads = nn.ModuleDict({"price": nn.Linear(32, 1), "district": nn.Linear(32, 4)})

mse, xent = nn.MSELoss(), nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(heads.parameters(), lr=4e-3, weight_decay=1e-3)  # FAULT
optimizer = torch.optim.AdamW([*trunk.parameters(), *heads.parameters()], lr=4e-3, weight_decay=1e-3)  # REPAIRED
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)

for epoch in range(8):
    trunk.train()
    heads.train()
    sums = np.zeros(2)
    for x, p, d in train_loader:
        h = trunk(x)
        loss_p = mse(heads["price"](h)[:, 0], p)
        loss_d = xent(heads["district"](h), d)
        optimizer.zero_grad()
        (loss_p + loss_d).backward()
        optimizer.step()
        sums += [loss_p.item(), loss_d.item()]
    scheduler.step()

    trunk.eval()
    heads.eval()
    with torch.no_grad():
        h = trunk(x_va)
        rmse = mse(heads["price"](h)[:, 0], p_va).sqrt().item()
        acc = (heads["district"](h).argmax(1) == d_va).float().mean().item()
    loss_p, loss_d = sums / len(train_loader)
    print(f"epoch {epoch + 1}: price {loss_p:.3f} district {loss_d:.3f} | val rmse {rmse:.3f} val acc {acc:.3f}")
