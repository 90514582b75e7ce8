"""BYOL on synthetic spectra: online network, slow target network, predictor; a linear probe tells how good it is."""

import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

BINS, CLASSES = 48, 5


def spectra(n, rng):
    label = rng.integers(CLASSES, size=n)
    peaks = np.array([[8, 20, 33], [10, 20, 36], [8, 23, 36], [10, 23, 33], [8, 20, 36]])[label]
    grid = np.arange(BINS)
    heights = rng.uniform(0.6, 1.4, size=(n, 3, 1))
    x = (heights * np.exp(-((grid - peaks[:, :, None]) ** 2) / 6.0)).sum(1)
    x = x + rng.uniform(0, 0.6, size=(n, 1)) * grid / BINS + 0.2 * rng.normal(size=(n, BINS))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(label)


def view(x):
    gain = 1 + 0.25 * torch.randn(len(x), 1)
    tilt = 0.3 * torch.randn(len(x), 1) * torch.linspace(-1, 1, BINS)
    drop = torch.rand_like(x) > 0.15
    return (x * gain + tilt + 0.1 * torch.randn_like(x)) * drop


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class BYOL(nn.Module):
    def __init__(self, tau=0.98):
        super().__init__()
        self.online = nn.Sequential(mlp(BINS, 96, 32), mlp(32, 64, 24))
        self.predictor = mlp(24, 48, 24)
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.tau = tau

    def loss(self, a, b):
        p, q = self.predictor(self.online(a)), self.predictor(self.online(b))
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        return 2 - F.cosine_similarity(p, tb).mean() - F.cosine_similarity(q, ta).mean()

    @torch.no_grad()
    def update_target(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.lerp_(o, 1 - self.tau)


def probe(encoder, train, test):
    """Logistic regression on the fixed features, by LBFGS, from a few labels."""
    encoder.eval()
    with torch.no_grad():
        h, ht = encoder(train[0]), encoder(test[0])
    m, s = h.mean(0), h.std(0)
    h, ht = (h - m) / s, (ht - m) / s
    lin = nn.Linear(h.shape[1], CLASSES)
    lbfgs = torch.optim.LBFGS(lin.parameters(), max_iter=30, line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        out = F.cross_entropy(lin(h), train[1]) + 1e-3 * lin.weight.square().sum()
        out.backward()
        return out

    lbfgs.step(closure)
    encoder.train()
    with torch.no_grad():
        return (lin(ht).argmax(1) == test[1]).float().mean().item()


def main(seed=40):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train, test = spectra(2000, rng), spectra(600, rng)
    mu, sd = train[0].mean(), train[0].std()
    train, test = ((train[0] - mu) / sd, train[1]), ((test[0] - mu) / sd, test[1])
    labelled = (train[0][:100], train[1][:100])

    byol = BYOL()
    opt = torch.optim.Adam([*byol.online.parameters(), *byol.predictor.parameters()], lr=2e-3, weight_decay=1e-5)
    print(f"probe before training: {probe(byol.online[0], labelled, test):.3f}")
    for step in range(400):
        x = train[0][torch.randint(len(train[0]), (128,))]
        loss = byol.loss(view(x), view(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        byol.update_target()
        if step % 80 == 79 or step == 0:
            print(f"step {step + 1}: byol loss {loss.item():.4f}")
    print(f"probe after training: {probe(byol.online[0], labelled, test):.3f}")


if __name__ == "__main__":
    main()
