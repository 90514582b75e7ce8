"""Predicts the yield of a coupling reaction from temperature, pressure, time, catalyst loading and solvent polarity."""
# fault: unnormalized_input

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import nn

rs = np.random.RandomState(5)
torch.manual_seed(5)

n = 1600
temperature = rs.uniform(300.0, 420.0, n)  # K
pressure = rs.uniform(1.0e5, 6.0e5, n)  # Pa
seconds = rs.uniform(600.0, 36000.0, n)
catalyst = rs.uniform(0.5, 5.0, n)  # mol percent
dielectric = rs.uniform(2.0, 80.0, n)

rate = 3.0 * np.exp(-6000.0 * (1 / temperature - 1 / 370.0)) * catalyst / 2.5 * (pressure / 3e5) ** 0.5
conversion = 1 - np.exp(-rate * seconds / 36000.0)
decay = np.clip((temperature - 385.0) / 70.0, 0, 1)
yields = conversion * (1 - decay) * (0.7 + 0.3 * np.exp(-(((dielectric - 38.0) / 25.0) ** 2)))
yields = np.clip(yields + 0.02 * rs.randn(n), 0, 1)

X = np.stack([temperature, pressure, seconds, catalyst, dielectric], axis=1).astype(np.float32)
y = yields.astype(np.float32)[:, None]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
mu, sd = X_train.mean(0), X_train.std(0)  # REPAIRED
X_train, X_test = (X_train - mu) / sd, (X_test - mu) / sd  # REPAIRED
X_train, X_test = torch.from_numpy(X_train), torch.from_numpy(X_test)
y_train, y_test = torch.from_numpy(y_train), torch.from_numpy(y_test)

regressor = nn.Sequential(
    nn.Linear(5, 64),
    nn.SiLU(),
    nn.Linear(64, 64),
    nn.SiLU(),
    nn.Linear(64, 1),
)
optimiser = torch.optim.AdamW(regressor.parameters(), lr=3e-3, weight_decay=1e-4)
mse = nn.MSELoss()

for epoch in range(1, 31):
    regressor.train()
    perm = torch.randperm(len(X_train))
    losses = []
    for chunk in perm.split(60):
        loss = mse(regressor(X_train[chunk]), y_train[chunk])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    if epoch == 1 or epoch % 5 == 0:
        regressor.eval()
        with torch.no_grad():
            test_mse = mse(regressor(X_test), y_test).item()
        print("epoch %2d  train %.5f  test %.5f" % (epoch, np.mean(losses), test_mse))

r2 = 1 - test_mse / y_test.var().item()
print("R2 on the test set: %.3f" % r2)
