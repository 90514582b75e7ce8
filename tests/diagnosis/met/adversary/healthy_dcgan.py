"""DCGAN on digits after the tutorial: convolutions, batch norm, weights drawn anew, Adam with beta 0.5."""

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(999)
data = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 8 - 1
nz, ngf, ndf = 16, 16, 16


def weights_init(m):
    name = m.__class__.__name__
    if name.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf * 2, 2, 1, 0, bias=False),
    nn.BatchNorm2d(ngf * 2),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
    nn.BatchNorm2d(ngf),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
    nn.Tanh(),
)
netD = nn.Sequential(
    nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
    nn.BatchNorm2d(ndf * 2),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf * 2, 1, 2, 1, 0, bias=False),
    nn.Sigmoid(),
)
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=0.0002, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=0.0002, betas=(0.5, 0.999))
fixed_noise = torch.randn(16, nz, 1, 1)
for it in range(150):
    netD.zero_grad()
    real = data[torch.randint(len(data), (64,))]
    label = torch.full((64,), 1.0)
    output = netD(real).view(-1)
    errD_real = criterion(output, label)
    errD_real.backward()
    fake = netG(torch.randn(64, nz, 1, 1))
    label.fill_(0.0)
    output = netD(fake.detach()).view(-1)
    errD_fake = criterion(output, label)
    errD_fake.backward()
    optimizerD.step()
    netG.zero_grad()
    label.fill_(1.0)
    output = netD(fake).view(-1)
    errG = criterion(output, label)
    errG.backward()
    optimizerG.step()
    if it % 50 == 0:
        with torch.no_grad():
            sample = netG(fixed_noise)
        print(it, (errD_real + errD_fake).item(), errG.item(), sample.std().item())
