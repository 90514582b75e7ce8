"""Fit the effect of a painkiller as a function of dose, body weight and age."""

# fault: lr_too_low
import logging

import numpy as np
import torch

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("dosage")
np.random.seed(21)
torch.manual_seed(21)

N = 2000
dose = np.random.uniform(0, 400, N)
weight = np.random.normal(75, 12, N)
age = np.random.uniform(18, 90, N)
per_kg = dose / weight
half = 1.5 + 0.02 * (age - 18)
effect = per_kg**2 / (half**2 + per_kg**2) * 100 + np.random.normal(0, 3, N)

features = np.stack([dose, weight, age], axis=1)
order = np.random.permutation(N)
fit, held = order[:1600], order[1600:]
mu, sd = features[fit].mean(0), features[fit].std(0)
features = (features - mu) / sd
target = (effect - effect[fit].mean()) / effect[fit].std()
x_fit, y_fit = torch.tensor(features[fit]).float(), torch.tensor(target[fit]).float()
x_held, y_held = torch.tensor(features[held]).float(), torch.tensor(target[held]).float()

curve = torch.nn.Sequential(
    torch.nn.Linear(3, 48),
    torch.nn.Tanh(),
    torch.nn.Linear(48, 48),
    torch.nn.Tanh(),
    torch.nn.Linear(48, 1),
)
LEARNING_RATE = 1e-6  # FAULT
LEARNING_RATE = 0.05  # REPAIRED
opt = torch.optim.SGD(curve.parameters(), lr=LEARNING_RATE, momentum=0.9)

for epoch in range(1, 21):
    perm = torch.randperm(len(x_fit))
    mean_loss = 0.0
    for i in range(0, len(perm), 64):
        idx = perm[i : i + 64]
        residual = curve(x_fit[idx])[:, 0] - y_fit[idx]
        loss = residual.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        mean_loss += loss.item() * len(idx) / len(perm)
    if epoch % 4 == 0 or epoch == 1:
        with torch.no_grad():
            mse = (curve(x_held)[:, 0] - y_held).pow(2).mean().item()
        log.info(
            "epoch %2d  fit mse %.4f  held-out mse %.4f  R2 %.3f", epoch, mean_loss, mse, 1 - mse / y_held.var().item()
        )
