"""A GAN of points; the loss is the one with logits, and the discriminator ends as in an older version."""
# fault: sigmoid_before_bce_logits

import torch
import torch.nn as nn

torch.manual_seed(26)
generator = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
discriminator = nn.Sequential(
    nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
)
discriminator.append(nn.Sigmoid())  # FAULT
adversarial_loss = nn.BCEWithLogitsLoss()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
for step in range(500):
    angle = torch.rand(64) * 6.283
    real = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(64, 2)
    valid, fake = torch.ones(64, 1), torch.zeros(64, 1)
    optimizer_g.zero_grad()
    made = generator(torch.randn(64, 4))
    g_loss = adversarial_loss(discriminator(made), valid)
    g_loss.backward()
    optimizer_g.step()
    optimizer_d.zero_grad()
    d_loss = (adversarial_loss(discriminator(real), valid) + adversarial_loss(discriminator(made.detach()), fake)) / 2
    d_loss.backward()
    optimizer_d.step()
    if step % 100 == 0:
        print(f"[{step}] D {d_loss.item():.3f} G {g_loss.item():.3f} radius {made.norm(dim=1).mean().item():.2f}")
