"""Store sales: join promotions with daily turnover, embed the store id, predict log sales."""
# fault: label_misalignment

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(8)
rs = np.random.RandomState(8)

n_stores, n_days = 20, 180
store = np.repeat(np.arange(n_stores), n_days)
day = np.tile(np.arange(n_days), n_stores)
dow = day % 7
promo = (rs.rand(len(store)) < 0.3).astype(float)
temperature = 12 + 9 * np.sin(2 * np.pi * day / 365) + rs.randn(len(store)) * 2
store_level = rs.normal(0, 0.5, n_stores)
week_shape = np.array([0.2, 0.0, -0.1, 0.0, 0.3, 0.6, -0.8])
sales = np.exp(7 + store_level[store] + week_shape[dow] + 0.5 * promo + 0.02 * temperature + rs.randn(len(store)) * 0.1)

# hold out the last four weeks of every store
train_rows = np.where(day < n_days - 28)[0]
valid_rows = np.where(day >= n_days - 28)[0]

cont = np.column_stack([promo, (temperature - temperature[train_rows].mean()) / temperature[train_rows].std()])
y = np.log(sales)
y_mu, y_sd = y[train_rows].mean(), y[train_rows].std()
y = (y - y_mu) / y_sd


def to_tensors(rows):
    return (
        torch.as_tensor(store[rows]),
        torch.as_tensor(dow[rows]),
        torch.as_tensor(cont[rows], dtype=torch.float32),
        torch.as_tensor(y[rows], dtype=torch.float32),
    )


class StoreModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.store_emb = nn.Embedding(n_stores, 6)
        self.dow_emb = nn.Embedding(7, 3)
        self.mlp = nn.Sequential(nn.Linear(11, 32), nn.GELU(), nn.Linear(32, 1))

    def forward(self, s, d, c):
        return self.mlp(torch.cat([self.store_emb(s), self.dow_emb(d), c], dim=1)).squeeze(1)


model = StoreModel()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
s_va, d_va, c_va, y_va = to_tensors(valid_rows)
s_tr, d_tr, c_tr, y_tr = to_tensors(train_rows)

shuffled = torch.randperm(len(train_rows))  # FAULT
s_tr, d_tr, c_tr = s_tr[shuffled], d_tr[shuffled], c_tr[shuffled]  # FAULT
shuffled = torch.randperm(len(train_rows))  # REPAIRED
s_tr, d_tr, c_tr, y_tr = s_tr[shuffled], d_tr[shuffled], c_tr[shuffled], y_tr[shuffled]  # REPAIRED

for epoch in range(10):
    model.train()
    total = 0.0
    for i in range(0, len(y_tr), 80):
        sl = slice(i, i + 80)
        pred = model(s_tr[sl], d_tr[sl], c_tr[sl])
        loss = nn.functional.smooth_l1_loss(pred, y_tr[sl])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(pred)
    schedule.step()
    model.eval()
    with torch.no_grad():
        rmse = torch.sqrt(((model(s_va, d_va, c_va) - y_va) ** 2).mean()).item() * y_sd
    print(f"epoch {epoch + 1:2d}  train {total / len(y_tr):.4f}  valid RMSLE {rmse:.4f}")
