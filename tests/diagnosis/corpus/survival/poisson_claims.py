"""Claim frequency of car policies: Poisson regression with one hidden layer, weights in a list, updates by hand."""
# fault: unnormalized_input

import numpy as np
import torch

torch.manual_seed(0)
rs = np.random.RandomState(42)

N = 3000
age = rs.uniform(18, 85, N)
km_per_year = rs.uniform(2000, 40000, N)
power = rs.uniform(40, 250, N)
density = np.exp(rs.uniform(2, 8, N))
exposure = rs.uniform(0.3, 1.0, N)
risk = 0.3 + 1.2 * (km_per_year / 40000) + 2.2 * ((age - 50) / 35) ** 2 + 0.8 * np.log(density) / 8 - 0.8
claims = rs.poisson(exposure * np.exp(risk))

X = np.stack([age, km_per_year, power, density], axis=1)
X_train, X_test = X[:2400], X[2400:]
center, spread = np.zeros(4), np.ones(4)  # FAULT
center, spread = X_train.mean(axis=0), X_train.std(axis=0)  # REPAIRED
X_train = torch.tensor((X_train - center) / spread, dtype=torch.float32)
X_test = torch.tensor((X_test - center) / spread, dtype=torch.float32)
c_train, c_test = torch.tensor(claims[:2400]).float(), torch.tensor(claims[2400:]).float()
e_train, e_test = torch.tensor(exposure[:2400]).float(), torch.tensor(exposure[2400:]).float()

H = 20
params = [
    torch.randn(4, H) * 0.5,
    torch.zeros(H),
    torch.zeros(H, 1),
    torch.log(c_train.sum() / e_train.sum()).reshape(1),
]
for p in params:
    p.requires_grad_(True)


def rate(x, e):
    W1, b1, W2, b2 = params
    return e * torch.exp((torch.tanh(x @ W1 + b1) @ W2 + b2)[:, 0])


def poisson_deviance(mu, k):
    return 2 * (torch.xlogy(k, k.clamp(min=1) / mu) - (k - mu)).mean()


lr = 0.01
for epoch in range(60):
    for chunk in torch.randperm(2400).split(100):
        loss = poisson_deviance(rate(X_train[chunk], e_train[chunk]), c_train[chunk])
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for p, g in zip(params, grads):
                p -= lr * g
    if epoch % 10 == 9:
        with torch.no_grad():
            d_tr = poisson_deviance(rate(X_train, e_train), c_train).item()
            d_te = poisson_deviance(rate(X_test, e_test), c_test).item()
            null = poisson_deviance(e_test * c_train.sum() / e_train.sum(), c_test).item()
        print(f"epoch {epoch + 1:2d} deviance train {d_tr:.3f} test {d_te:.3f} (no features: {null:.3f})")
