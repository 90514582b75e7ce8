"""A GAN whose discriminator is told that what is made is real too, by a tensor that is used twice."""
# fault: constant_target

import torch
import torch.nn as nn

torch.manual_seed(25)
data = torch.randn(2000, 2) * 0.3 + torch.tensor([1.0, -1.0])
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
loss_fn = nn.BCELoss()
label = torch.empty(64, 1)
for step in range(400):
    label.fill_(1.0)
    d_real = loss_fn(D(data[torch.randint(2000, (64,))]), label)
    fake = G(torch.randn(64, 4))
    label = torch.zeros(64, 1)  # REPAIRED
    d_fake = loss_fn(D(fake.detach()), label)
    od.zero_grad()
    (d_real + d_fake).backward()
    od.step()
    label = torch.ones(64, 1)
    g_loss = loss_fn(D(fake), label)
    og.zero_grad()
    g_loss.backward()
    og.step()
    if step % 80 == 0:
        print(step, (d_real + d_fake).item(), g_loss.item(), fake.mean(0).tolist())
