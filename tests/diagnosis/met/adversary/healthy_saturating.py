"""The first GAN loss on one-dimensional data; the generator's loss rises while it learns."""

import torch
import torch.nn as nn

torch.manual_seed(3)
G = nn.Sequential(nn.Linear(1, 16), nn.ELU(), nn.Linear(16, 1))
D = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())
d_opt = torch.optim.Adam(D.parameters(), lr=2e-3)
g_opt = torch.optim.Adam(G.parameters(), lr=1e-3)
bce = nn.BCELoss()
for epoch in range(300):
    for _ in range(2):
        real = 4 + 1.25 * torch.randn(64, 1)
        fake = G(torch.rand(64, 1)).detach()
        d_loss = bce(D(real), torch.ones(64, 1)) + bce(D(fake), torch.zeros(64, 1))
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
    made = G(torch.rand(64, 1))
    g_loss = bce(D(made), torch.ones(64, 1))
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    if epoch % 60 == 0:
        print(epoch, d_loss.item(), g_loss.item(), made.mean().item(), made.std().item())
