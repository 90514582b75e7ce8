"""Diffusion of points on a spiral; the noise that is to be predicted is drawn where the loss is written."""
# fault: label_misalignment

import torch
from torch import nn

torch.manual_seed(27)
STEPS = 50
beta = torch.linspace(1e-3, 0.2, STEPS)
alpha_bar = torch.cumprod(1 - beta, 0)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(STEPS, 32)
        self.net = nn.Sequential(nn.Linear(34, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


def q_sample(x0, t, noise=None):
    if noise is None:
        noise = torch.randn_like(x0)
    a = alpha_bar[t][:, None]
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


turn = torch.rand(2000) * 9
points = torch.stack([turn * turn.cos(), turn * turn.sin()], 1) / 5
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(500):
    x0 = points[torch.randint(2000, (128,))]
    t = torch.randint(STEPS, (128,))
    noise = torch.randn_like(x0)
    noisy = q_sample(x0, t)  # FAULT
    noisy = q_sample(x0, t, noise)  # REPAIRED
    loss = nn.functional.mse_loss(model(noisy, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
