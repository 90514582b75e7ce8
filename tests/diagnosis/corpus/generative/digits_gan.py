"""A small fully connected GAN that learns to draw 8x8 handwritten digits."""
# fault: gan_imbalance

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
np.random.seed(0)

nz = 32
batch_size = 64
n_iter = 700
lr_g, lr_d = 1e-5, 4e-3  # FAULT
lr_g, lr_d = 1e-3, 1e-3  # REPAIRED

images = load_digits().data.astype(np.float32) / 8.0 - 1.0
np.random.shuffle(images)
real_train = torch.from_numpy(images[:1500])
real_test = torch.from_numpy(images[1500:])

netG = nn.Sequential(
    nn.Linear(nz, 128),
    nn.BatchNorm1d(128),
    nn.ReLU(),
    nn.Linear(128, 128),
    nn.BatchNorm1d(128),
    nn.ReLU(),
    nn.Linear(128, 64),
    nn.Tanh(),
)
netD = nn.Sequential(
    nn.Linear(64, 128),
    nn.LeakyReLU(0.2),
    nn.Dropout(0.3),
    nn.Linear(128, 64),
    nn.LeakyReLU(0.2),
    nn.Dropout(0.3),
    nn.Linear(64, 1),
)
optG = torch.optim.Adam(netG.parameters(), lr=lr_g, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=lr_d, betas=(0.5, 0.999))
ones, zeros = torch.ones(batch_size, 1), torch.zeros(batch_size, 1)


def nearest(a, b):
    return torch.cdist(a, b).min(dim=1).values.mean().item()


for it in range(1, n_iter + 1):
    real = real_train[torch.randint(len(real_train), (batch_size,))]
    fake = netG(torch.randn(batch_size, nz))

    # discriminator
    optD.zero_grad()
    d_real = netD(real)
    d_fake = netD(fake.detach())
    lossD = F.binary_cross_entropy_with_logits(d_real, ones) + F.binary_cross_entropy_with_logits(d_fake, zeros)
    lossD.backward()
    optD.step()

    # generator
    optG.zero_grad()
    lossG = F.binary_cross_entropy_with_logits(netD(fake), ones)
    lossG.backward()
    optG.step()

    if it % 100 == 0:
        d_x, d_gz = torch.sigmoid(d_real).mean().item(), torch.sigmoid(d_fake).mean().item()
        print(f"[{it}/{n_iter}] loss_D {lossD.item():.4f} loss_G {lossG.item():.4f} D(x) {d_x:.3f} D(G(z)) {d_gz:.3f}")

netG.eval()
with torch.no_grad():
    samples = netG(torch.randn(500, nz))
print(f"held-out digit -> nearest training digit : {nearest(real_test, real_train):.3f}")
print(f"generated      -> nearest training digit : {nearest(samples, real_train):.3f}")
print(f"held-out digit -> nearest generated      : {nearest(real_test, samples):.3f}")
