"""Strength of concrete from the mix (formula with noise), log-cosh loss, flat notebook code."""
# fault: target_broadcast

# %%
import torch

torch.manual_seed(8)
N = 2400
cement = 150 + 350 * torch.rand(N)
water = 130 + 100 * torch.rand(N)
slag = torch.relu(200 * torch.rand(N) - 60)
age = torch.randint(3, 120, (N,)).float()
y = 22 * (cement + 0.6 * slag) / water * torch.log(age) / 4 + 2.0 * torch.randn(N)

# %% scale
X = torch.stack([cement, water, slag, age.log()], dim=1)
X = (X - X[:1800].mean(0)) / X[:1800].std(0)
y_mean, y_std = y[:1800].mean(), y[:1800].std()
y = (y - y_mean) / y_std
print("X", tuple(X.shape), "y", tuple(y.shape))

# %% network
W = 40
f = torch.nn.Sequential(
    torch.nn.Linear(4, W), torch.nn.GELU(), torch.nn.Linear(W, W), torch.nn.GELU(), torch.nn.Linear(W, 1)
)
opt = torch.optim.RMSprop(f.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.995)


# %% train
for step in range(500):
    i = torch.randint(0, 1800, (90,))
    p = f(X[i])
    t = y[i]  # FAULT
    t = y[i, None]  # REPAIRED
    d = p - t
    loss = (d + torch.nn.functional.softplus(-2 * d) - 0.6931472).mean()  # log cosh
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 100 == 0 or step == 499:
        print(step, loss.item())

# %% result in MPa
with torch.no_grad():
    p = f(X[1800:]).squeeze(1)
d = (p - y[1800:]) * y_std
r2 = 1 - (p - y[1800:]).pow(2).sum() / (y[1800:] - y[1800:].mean()).pow(2).sum()
print(f"test rmse {d.pow(2).mean().sqrt():.2f} MPa, R2 {r2:.3f}")
