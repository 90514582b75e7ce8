"""Proportional-odds model for pain scores 0 to 4 in float64: ordered cut points, exact likelihood, fitted by L-BFGS."""

import sys

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
rng = np.random.default_rng(23)

n, d, levels = 16000, 8, 5
X = rng.normal(size=(n, d))
latent = X @ np.array([3.0, -2.4, 1.8, 1.2, 0.0, 0.0, -0.9, 0.6]) + 1.2 * np.abs(X[:, 4]) + rng.logistic(size=n)
y = np.digitize(latent, np.quantile(latent, [0.15, 0.4, 0.7, 0.9]))
X, y = torch.from_numpy(X), torch.from_numpy(y)
X_fit, y_fit, X_new, y_new = X[:12000], y[:12000], X[12000:], y[12000:]

weights = {
    "w1": (0.4 * torch.randn(d, 6)).requires_grad_(),
    "b1": torch.zeros(6, requires_grad=True),
    "w2": (0.3 * torch.randn(6)).requires_grad_(),
    "skip": torch.zeros(d, requires_grad=True),
    "first_cut": torch.full((1,), -1.0, requires_grad=True),
    "gaps": torch.zeros(levels - 2, requires_grad=True),
}


def cut_points():
    return torch.cumsum(torch.cat([weights["first_cut"], torch.nn.functional.softplus(weights["gaps"])]), dim=0)


def class_probs(x):
    score = x @ weights["skip"] + torch.tanh(x @ weights["w1"] + weights["b1"]) @ weights["w2"]
    below = torch.sigmoid(cut_points()[None, :] - score[:, None])
    edge = torch.ones(len(x), 1)
    below = torch.cat([0 * edge, below, edge], dim=1)
    return (below[:, 1:] - below[:, :-1]).clamp(min=1e-12)


def nll(x, target):
    return -class_probs(x).gather(1, target[:, None]).log().mean()


def objective():
    ridge = sum((weights[k] ** 2).sum() for k in ("w1", "w2", "skip"))
    return nll(X_fit, y_fit) + 2e-4 * ridge


optimizer = torch.optim.LBFGS(weights.values(), lr=0.5, max_iter=1, history_size=10)


def closure():
    optimizer.zero_grad()
    value = objective()
    value.backward()
    return value


for it in range(1, 121):
    value = optimizer.step(closure)
    if it in (1, 5, 10) or it % 30 == 0:
        with torch.no_grad():
            guess = class_probs(X_new).argmax(1)
            mae = (guess - y_new).abs().double().mean().item()
            print(
                f"{it:3d}: objective {value.item():.4f}  new nll {nll(X_new, y_new).item():.4f}  mean error {mae:.3f}"
            )

print("cut points:", [round(c, 2) for c in cut_points().tolist()])
sys.exit(0)
