"""House prices: numpy feature engineering, MLP on log price, one-cycle schedule, validation RMSE."""
# fault: lr_too_high

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(100)
torch.manual_seed(100)

n = 2400
df = {
    "area": rng.lognormal(4.7, 0.35, n),
    "rooms": rng.integers(1, 8, n).astype(float),
    "year": rng.integers(1920, 2020, n).astype(float),
    "garage": rng.integers(0, 3, n).astype(float),
    "quality": rng.integers(1, 11, n).astype(float),
    "dist": rng.exponential(8.0, n),
}
log_price = (
    8.0
    + 0.8 * np.log(df["area"])
    + 0.12 * df["quality"]
    - 0.03 * df["dist"]
    + 0.002 * (df["year"] - 1970)
    + 0.06 * df["garage"] * (df["quality"] > 5)
    + rng.normal(0, 0.08, n)
)
df["age"] = 2020 - df.pop("year")
df["area"] = np.log(df["area"])
df["area_per_room"] = df["area"] - np.log(df["rooms"])

X = np.column_stack(list(df.values()))
idx = rng.permutation(n)
tr, va = idx[:1920], idx[1920:]
X = (X - X[tr].mean(axis=0)) / X[tr].std(axis=0)
y_mean, y_std = log_price[tr].mean(), log_price[tr].std()
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor((log_price - y_mean) / y_std, dtype=torch.float32).unsqueeze(1)

train_loader = DataLoader(TensorDataset(X[tr], y[tr]), batch_size=64, shuffle=True, drop_last=True)

net = nn.Sequential(nn.Linear(X.shape[1], 64), nn.SiLU(), nn.Linear(64, 32), nn.SiLU(), nn.Linear(32, 1))
EPOCHS = 12
MAX_LR = 1.5  # FAULT
MAX_LR = 6e-3  # REPAIRED
optimizer = torch.optim.Adam(net.parameters(), lr=MAX_LR)
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=MAX_LR, epochs=EPOCHS, steps_per_epoch=len(train_loader), pct_start=0.2
)
mse = nn.MSELoss()

best = float("inf")
for epoch in range(EPOCHS):
    net.train()
    history = []
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = mse(net(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        history.append(loss.item())
    net.eval()
    with torch.no_grad():
        rmse = (net(X[va]) - y[va]).pow(2).mean().sqrt().item() * y_std
    best = min(best, rmse)
    print(
        f"epoch {epoch:02d} train {np.mean(history):.4f} val RMSE(log) {rmse:.4f} lr {scheduler.get_last_lr()[0]:.2e}"
    )
print("best RMSE:", round(best, 4))
