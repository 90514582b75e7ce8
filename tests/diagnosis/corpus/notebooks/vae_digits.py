"""Variational autoencoder on the 8x8 digits with a warmed-up KL term, notebook style."""

# %%
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(30)
x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
x = x[torch.randperm(len(x))]
x, x_test = x[:1500], x[1500:]
pixel_logit = torch.logit(x.mean(0).clamp(0.01, 0.99))

# %%
enc = nn.Sequential(nn.Linear(64, 100), nn.ELU(), nn.Linear(100, 2 * 6))
dec = nn.Sequential(nn.Linear(6, 100), nn.ELU(), nn.Linear(100, 64))
with torch.no_grad():  # start as the mean image and a standard normal code
    dec[-1].bias.copy_(pixel_logit)
    enc[-1].weight[6:].zero_()
    enc[-1].bias[6:].zero_()
theta = list(enc.parameters()) + list(dec.parameters())
opt = torch.optim.Adam(theta, lr=3e-3)


# %%
def elbo(batch, beta):
    mu, logvar = enc(batch - 0.3).chunk(2, dim=1)
    z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
    rec = 20 * ((torch.sigmoid(dec(z)) - batch) ** 2).sum(1).mean()
    kl = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(1).mean()
    return rec + beta * kl, rec, kl


# %%
log = []
for step in range(600):
    beta = min(1.0, step / 200)
    loss, rec, kl = elbo(x[torch.randint(len(x), (100,))], beta)
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.append((loss.item(), rec.item(), kl.item()))
    if step % 100 == 99:
        print(step + 1, "loss %.2f  rec %.2f  kl %.2f" % tuple(torch.tensor(log[-20:]).mean(0).tolist()))

# %%
with torch.no_grad():
    loss, rec, kl = elbo(x_test, 1.0)
    print(
        "test: rec %.2f kl %.2f" % (rec, kl),
        "mean image alone: %.2f" % (20 * (x_test - x.mean(0)).pow(2).sum(1).mean()),
    )
    sample = torch.sigmoid(dec(torch.randn(1, 6))).view(8, 8)
for row in sample:
    print("".join(" .:#"[int(v * 3.99)] for v in row))
