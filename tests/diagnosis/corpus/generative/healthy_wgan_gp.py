"""Wasserstein GAN with gradient penalty on a spiral in the plane."""

import logging

import torch
from torch import autograd, nn, optim

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("wgan")


def spiral(n):
    t = 3 * torch.rand(n, 1).sqrt()
    angle = 2.2 * t
    return torch.cat([t * angle.cos(), t * angle.sin()], 1) / 1.5 + 0.03 * torch.randn(n, 2)


def penalty(critic, real, fake):
    mix = torch.rand(real.shape[0], 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (g,) = autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


class WGAN:
    def __init__(self, z_dim=8, width=64, n_critic=3, lam=1.0):
        self.z_dim, self.n_critic, self.lam = z_dim, n_critic, lam
        self.generator = nn.Sequential(
            nn.Linear(z_dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2)
        )
        self.critic = nn.Sequential(
            nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
        )
        self.opt_g = optim.Adam(self.generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
        self.opt_c = optim.Adam(self.critic.parameters(), lr=1e-3, betas=(0.0, 0.9))

    def sample(self, n):
        return self.generator(torch.randn(n, self.z_dim))

    def train_step(self, batch):
        for _ in range(self.n_critic):
            real = spiral(batch)
            with torch.no_grad():
                fake = self.sample(batch)
            gap = self.critic(real).mean() - self.critic(fake).mean()
            self.opt_c.zero_grad()
            (-gap + self.lam * penalty(self.critic, real, fake)).backward()
            self.opt_c.step()
        for p in self.critic.parameters():
            p.requires_grad_(False)
        self.opt_g.zero_grad()
        g_loss = -self.critic(self.sample(batch)).mean()
        g_loss.backward()
        self.opt_g.step()
        for p in self.critic.parameters():
            p.requires_grad_(True)
        return gap.item(), g_loss.item()


@torch.no_grad()
def coverage(wgan, n=800):
    d = torch.cdist(spiral(n), wgan.sample(n))
    return d.min(0).values.mean().item(), d.min(1).values.mean().item()


if __name__ == "__main__":
    torch.manual_seed(8)
    wgan = WGAN()
    log.info("start: sample->data %.3f data->sample %.3f", *coverage(wgan))
    for step in range(1, 401):
        gap, g_loss = wgan.train_step(128)
        if step % 80 == 0:
            log.info("step %d  wasserstein %.3f  g %.3f  s->d %.3f d->s %.3f", step, gap, g_loss, *coverage(wgan))
