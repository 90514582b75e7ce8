"""A GAN on a ring; the generator is judged on what was made for the discriminator."""
# fault: broken_graph

import torch
import torch.nn as nn

torch.manual_seed(1)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
og, od = torch.optim.Adam(G.parameters(), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(300):
    angle = torch.rand(64, 1) * 6.283
    real = torch.cat([angle.cos(), angle.sin()], 1)
    fake = G(torch.randn(64, 4))
    frozen = fake.detach()
    d_loss = bce(D(real), torch.ones(64, 1)) + bce(D(frozen), torch.zeros(64, 1))
    od.zero_grad()
    d_loss.backward()
    od.step()
    g_loss = bce(D(frozen), torch.ones(64, 1))  # FAULT
    g_loss = bce(D(fake), torch.ones(64, 1))  # REPAIRED
    og.zero_grad()
    g_loss.backward()
    og.step()
    if step % 60 == 0:
        print(step, d_loss.item(), g_loss.item())
