"""beta-VAE on sensor-like vectors with three hidden causes; the weight of the KL term is warmed up linearly."""

import math

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2024)


def simulate(n, mix, phase):
    causes = torch.randn(n, 3)
    return torch.sin(causes @ mix + phase) + 0.05 * torch.randn(n, mix.shape[1])


mix, phase = 0.6 * torch.randn(3, 24), 2 * math.pi * torch.rand(24)
train, valid = simulate(3000, mix, phase), simulate(600, mix, phase)
loader = DataLoader(TensorDataset(train), batch_size=100, shuffle=True, drop_last=True)


class Encoder(nn.Module):
    def __init__(self, d_in, d_z):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 2 * d_z))

    def forward(self, x):
        loc, raw = self.net(x).chunk(2, dim=-1)
        return Normal(loc, nn.functional.softplus(raw) + 1e-4)


class Decoder(nn.Module):
    def __init__(self, d_z, d_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_z, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, d_out))
        self.log_scale = nn.Parameter(torch.tensor(-1.0))

    def forward(self, z):
        return Normal(self.net(z), self.log_scale.exp())


encoder, decoder = Encoder(24, 3), Decoder(3, 24)
prior = Normal(torch.zeros(3), torch.ones(3))
params = list(encoder.parameters()) + list(decoder.parameters())
opt = torch.optim.AdamW(params, lr=2e-3, weight_decay=1e-4)
EPOCHS, WARMUP = 20, 6

step = 0
for epoch in range(EPOCHS):
    encoder.train(), decoder.train()
    nll_sum = kl_sum = 0.0
    for (x,) in loader:
        beta = min(1.0, step / (WARMUP * len(loader)))
        q = encoder(x)
        nll = -decoder(q.rsample()).log_prob(x).sum(-1).mean()
        kl = kl_divergence(q, prior).sum(-1).mean()
        opt.zero_grad(set_to_none=True)
        (nll + beta * kl).backward()
        nn.utils.clip_grad_norm_(params, 50.0)
        opt.step()
        step += 1
        nll_sum += nll.item()
        kl_sum += kl.item()
    if epoch % 4 == 3:
        encoder.eval(), decoder.eval()
        with torch.no_grad():
            x_hat = decoder(encoder(valid).mean).mean
            r2 = 1 - (x_hat - valid).pow(2).mean() / valid.var(0).mean()
        n = len(loader)
        print(f"{epoch + 1:3d} beta {beta:.2f} nll {nll_sum / n:8.3f} kl {kl_sum / n:6.3f} valid R2 {r2:.3f}")
