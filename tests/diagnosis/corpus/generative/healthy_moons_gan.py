"""GAN that learns the two-moons distribution, one-sided label smoothing, EMA copy of the generator for sampling."""

import copy

import torch
import torch.nn as nn
from sklearn.datasets import make_moons

torch.manual_seed(42)


def mlp(sizes, slope=0.2):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(slope)]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


X, _ = make_moons(n_samples=4000, noise=0.05, random_state=7)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
X, X_test = X[:3000], X[3000:]

Z_DIM = 4
gen = mlp([Z_DIM, 64, 64, 64, 2])
disc = mlp([2, 64, 64, 64, 1])
gen_ema = copy.deepcopy(gen).requires_grad_(False)
opt_gen = torch.optim.Adam(gen.parameters(), lr=8e-4, betas=(0.5, 0.99))
opt_disc = torch.optim.Adam(disc.parameters(), lr=8e-4, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


print("energy distance before training: %.4f" % energy_distance(gen(torch.randn(1000, Z_DIM)).detach(), X_test))

for i in range(1, 701):
    xb = X[torch.randint(0, len(X), (128,))]

    # 1) update D, no gradient into G
    fake = gen(torch.randn(128, Z_DIM)).detach()
    real_logit, fake_logit = disc(xb), disc(fake)
    loss_d = bce(real_logit, torch.full_like(real_logit, 0.9)) + bce(fake_logit, torch.zeros_like(fake_logit))
    opt_disc.zero_grad()
    loss_d.backward()
    opt_disc.step()

    # 2) update G
    logit = disc(gen(torch.randn(128, Z_DIM)))
    loss_g = bce(logit, torch.ones_like(logit))
    opt_gen.zero_grad()
    loss_g.backward()
    opt_gen.step()

    with torch.no_grad():
        for p_ema, p in zip(gen_ema.parameters(), gen.parameters()):
            p_ema.lerp_(p, 0.02)

    if i % 100 == 0:
        with torch.no_grad():
            ed = energy_distance(gen_ema(torch.randn(1000, Z_DIM)), X_test)
        print("iter %4d | D %.3f | G %.3f | energy distance (EMA) %.4f" % (i, loss_d.item(), loss_g.item(), ed))
