"""Compressive strength of concrete from the mixture and its age, an MLP trained with Adam."""
# fault: target_broadcast

import numpy as np
import torch
from torch import nn


class ConcreteData(torch.utils.data.Dataset):
    def __init__(self, n, rng, stats=None):
        cement = rng.uniform(100, 540, n)
        water = rng.uniform(120, 250, n)
        slag = rng.uniform(0, 360, n) * (rng.random(n) < 0.5)
        plasticiser = rng.uniform(0, 30, n)
        days = rng.choice([1, 3, 7, 14, 28, 56, 90], n)
        binder = cement + 0.6 * slag
        strength = 22 * (binder / water) ** 0.9 * np.log1p(days) / np.log1p(28) + 0.25 * plasticiser
        strength = strength + rng.normal(0, 1.5, n)
        x = np.stack([cement, water, slag, plasticiser, np.log(days)], axis=1)
        self.stats = stats or (x.mean(0), x.std(0), strength.mean(), strength.std())
        x_mean, x_std, s_mean, s_std = self.stats
        self.x = torch.tensor((x - x_mean) / x_std, dtype=torch.float32)
        self.y = torch.tensor((strength - s_mean) / s_std, dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


rng = np.random.default_rng(8)
torch.manual_seed(8)
train_data = ConcreteData(3000, rng)
test_data = ConcreteData(600, rng, train_data.stats)
train_iter = torch.utils.data.DataLoader(train_data, batch_size=50, shuffle=True)

regressor = nn.Sequential(
    nn.Linear(5, 120),
    nn.ELU(),
    nn.Linear(120, 120),
    nn.ELU(),
    nn.Linear(120, 1),
)
optimizer = torch.optim.Adam(regressor.parameters(), lr=2e-3)

for epoch in range(12):
    history = []
    for x, y in train_iter:
        y_pred = regressor(x)  # FAULT
        y_pred = regressor(x).squeeze(-1)  # REPAIRED
        loss = ((y_pred - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    print(f"epoch {epoch + 1} loss {np.mean(history):.4f}")

with torch.no_grad():
    pred = regressor(test_data.x)[:, 0].numpy()
truth = test_data.y.numpy()
r2 = 1 - ((truth - pred) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
print(f"R2 on the test mixtures: {r2:.3f}")
