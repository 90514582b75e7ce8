"""Conditional variational autoencoder for 8x8 digits: the class is given, the code should hold the handwriting."""
# fault: vae_posterior_collapse

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)
LATENT = 6

X, labels = load_digits(return_X_y=True)
X = X / 16.0
Xtr, Xte, ytr, yte = train_test_split(X, labels, test_size=0.2, random_state=17, stratify=labels)


def to_set(a, b):
    return TensorDataset(torch.tensor(a).float(), nn.functional.one_hot(torch.tensor(b), 10).float())


train_dl = DataLoader(to_set(Xtr, ytr), batch_size=64, shuffle=True, drop_last=True)
test_x, test_c = to_set(Xte, yte).tensors


class CVAE(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64 + 10, hidden), nn.LeakyReLU(0.1))
        self.mu = nn.Linear(hidden, LATENT)
        self.logvar = nn.Linear(hidden, LATENT)
        self.dec = nn.Sequential(nn.Linear(LATENT + 10, hidden), nn.LeakyReLU(0.1), nn.Linear(hidden, 64))

    def forward(self, x, c):
        h = self.enc(torch.cat([x, c], 1))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return torch.sigmoid(self.dec(torch.cat([z, c], 1))), mu, logvar


def terms(x, xhat, mu, logvar):
    rec = ((xhat - x) ** 2).mean()  # FAULT
    rec = ((xhat - x) ** 2).sum(1).mean() / (2 * 0.15**2)  # REPAIRED
    kl = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(1).mean()
    return rec, kl


vae = CVAE()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
for epoch in range(25):
    sums = torch.zeros(2)
    for xb, cb in train_dl:
        rec, kl = terms(xb, *vae(xb, cb))
        loss = rec + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        sums += torch.stack([rec, kl]).detach()
    if epoch % 4 == 0:
        with torch.no_grad():
            xhat, mu, _ = vae(test_x, test_c)
        mse = ((xhat - test_x) ** 2).mean()
        r, k = (sums / len(train_dl)).tolist()
        print(f"epoch {epoch:2d} rec {r:.3f} kl {k:.3f} test mse {mse:.4f} std of codes {mu.std(0).mean():.3f}")
