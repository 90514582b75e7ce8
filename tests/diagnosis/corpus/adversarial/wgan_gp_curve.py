"""Wasserstein GAN with gradient penalty on points of a noisy spiral arm."""

import math

import torch
from torch import autograd, nn


def spiral(n):
    t = torch.rand(n).sqrt()
    angle = 1.5 * math.pi * t
    xy = torch.stack([t * angle.cos(), t * angle.sin()], dim=1)
    return (1.6 * xy + 0.05 * torch.randn(n, 2)) + torch.tensor([0.5, 0.0])


def gradient_penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (g,) = autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


def main():
    torch.manual_seed(1)
    latent, batch, n_critic, lam = 3, 64, 3, 1.0
    gen = nn.Sequential(nn.Linear(latent, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 2))
    critic = nn.Sequential(nn.Linear(2, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=3e-3, betas=(0.5, 0.9))

    def nearest():
        """Mean distance from each held-out point to the closest generated one and the other way round."""
        with torch.no_grad():
            d = torch.cdist(spiral(400), gen(torch.randn(400, latent)))
        return d.min(1).values.mean().item(), d.min(0).values.mean().item()

    print("before: coverage %.3f, precision %.3f" % nearest())
    for it in range(1, 351):
        for _ in range(n_critic):
            real = spiral(batch)
            with torch.no_grad():
                fake = gen(torch.randn(batch, latent))
            wasserstein = critic(real).mean() - critic(fake).mean()
            c_loss = -wasserstein + lam * gradient_penalty(critic, real, fake)
            opt_c.zero_grad()
            c_loss.backward()
            opt_c.step()

        critic.requires_grad_(False)
        g_loss = -critic(gen(torch.randn(batch, latent))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        critic.requires_grad_(True)

        if it % 50 == 0:
            print("%d: W %.3f, coverage %.3f, precision %.3f" % (it, wasserstein.item(), *nearest()))


if __name__ == "__main__":
    main()
