"""Probabilistic forecast of daily shop sales: a network gives mean and spread, trained by Gaussian likelihood."""
# fault: nan_loss

import torch
import torch.nn.functional as F


def sales_history(n_days, generator):
    """Standardised sales; the shop is shut on Sundays, on these days sales are exactly the same (nothing)."""
    day = torch.arange(n_days)
    weekday = F.one_hot(day % 7, 7).float()
    season = torch.stack([torch.sin(2 * torch.pi * day / 365), torch.cos(2 * torch.pi * day / 365)], 1)
    promo = (torch.rand(n_days, 1, generator=generator) < 0.2).float()
    base = 1.0 + 0.8 * season[:, :1] + 1.2 * promo + 0.25 * (day % 7)[:, None]
    noise = (0.15 + 0.25 * promo) * torch.randn(n_days, 1, generator=generator)
    sales = torch.where((day % 7 == 6)[:, None], torch.tensor(-1.0), base + noise)
    x = torch.cat([weekday, season, promo], dim=1)
    return x, (sales - sales.mean()) / sales.std()


def init(sizes, generator):
    params = []
    for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
        w = torch.randn(fan_in, fan_out, generator=generator) / fan_in**0.5
        params += [w.requires_grad_(), torch.zeros(fan_out).requires_grad_()]
    with torch.no_grad():
        params[-1][1] = 1.0  # begin with a spread of about one
    return params


def forward(params, x):
    h = x
    for w, b in zip(params[:-2:2], params[1:-2:2]):
        h = torch.tanh(h @ w + b)
    mean, raw = (h @ params[-2] + params[-1]).unbind(dim=1)
    sigma = torch.relu(raw)  # FAULT
    sigma = F.softplus(raw) + 0.05  # REPAIRED
    return mean, sigma


def nll(params, x, y):
    mean, sigma = forward(params, x)
    z = (y - mean) / sigma
    return (torch.log(sigma) + 0.5 * z**2).mean()


gen = torch.Generator().manual_seed(314)
X, Y = sales_history(1825, gen)
Y = Y.squeeze(1)
shuffled = torch.randperm(len(X), generator=gen)
train_idx, test_idx = shuffled[:1450], shuffled[1450:]

params = init([X.shape[1], 32, 32, 2], gen)
optimizer = torch.optim.Adam(params, lr=4e-3)
for step in range(600):
    idx = train_idx[torch.randint(len(train_idx), (96,), generator=gen)]
    loss = nll(params, X[idx], Y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 599:
        with torch.no_grad():
            test = nll(params, X[test_idx], Y[test_idx])
            mean, _ = forward(params, X[test_idx])
            rmse = (mean - Y[test_idx]).square().mean().sqrt()
        print(f"step {step:4d}  nll {loss.item():8.4f}  test nll {test.item():8.4f}  test rmse {rmse.item():.4f}")
