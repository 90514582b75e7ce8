"""Calibration of mixture spectra: an encoder learns from unlabelled spectra, is frozen, and a small head is fitted."""

import numpy as np
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
torch.manual_seed(31)
rng = np.random.default_rng(31)

grid = np.linspace(0, 1, 80)
pure = np.stack([np.exp(-(((grid - c) / w) ** 2)) for c, w in [(0.2, 0.08), (0.45, 0.15), (0.6, 0.06), (0.8, 0.1)]])


def mixtures(n):
    amount = rng.dirichlet(np.ones(4), n)
    absorbance = amount @ pure
    absorbance = absorbance / (1 + 0.3 * absorbance) + 0.02 * rng.standard_normal((n, 80))
    return torch.from_numpy(absorbance), torch.from_numpy(amount)


unlabelled, _ = mixtures(2500)
cal_x, cal_y = mixtures(300)
test_x, test_y = mixtures(300)
centre, spread = unlabelled.mean(0), unlabelled.std(0)
unlabelled, cal_x, test_x = ((t - centre) / spread for t in (unlabelled, cal_x, test_x))

# stage 1: autoencoder on unlabelled spectra
encoder = nn.Sequential(nn.Linear(80, 48), nn.Tanh(), nn.Linear(48, 6))
decoder = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 80))
adam = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
for epoch in range(12):
    seen = 0.0
    for batch in unlabelled[torch.randperm(2500)].split(50):
        rec = decoder(encoder(batch))
        loss = nn.functional.mse_loss(rec, batch)
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()
        seen += loss.item() / 50
    if epoch % 3 == 2:
        print(f"autoencoder epoch {epoch + 1}: reconstruction {seen:.4f}")

# stage 2: freeze the encoder, fit the calibration head with L-BFGS
encoder.requires_grad_(False).eval()
head = nn.Linear(6, 4)
nn.init.zeros_(head.weight)
nn.init.zeros_(head.bias)
lbfgs = torch.optim.LBFGS(head.parameters(), lr=1.0, max_iter=4, line_search_fn="strong_wolfe")
codes = encoder(cal_x)


def closure():
    lbfgs.zero_grad()
    fit = nn.functional.mse_loss(head(codes), cal_y) + 1e-6 * head.weight.pow(2).sum()
    fit.backward()
    return fit


for k in range(10):
    value = lbfgs.step(closure)
    print(f"l-bfgs {k}: {value.item():.6f}")

with torch.no_grad():
    rmse = (head(encoder(test_x)) - test_y).pow(2).mean().sqrt()
print(f"test rmse of the fractions {rmse:.4f} (spread of the fractions {test_y.std():.4f})")
