"""Convolutional denoiser for digit images under bfloat16 autocast on the CPU; it predicts the noise (zero at first)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(123)
SIGMA = 0.5

clean = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 16
clean = (clean - 0.305) / 0.376
clean = clean[torch.randperm(len(clean))]
train, held_out = clean[:1500], clean[1500:]
fixed_noise = SIGMA * torch.randn_like(held_out)


class Denoiser(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.enc = nn.Conv2d(1, width, 3, padding=1)
        self.mid = nn.Conv2d(width, width, 5, padding=2, groups=2)
        self.mix = nn.Conv2d(width, width, 1)
        self.dec = nn.Conv2d(width, 1, 3, padding=1)
        nn.init.zeros_(self.dec.weight)
        nn.init.zeros_(self.dec.bias)

    def forward(self, x):
        h = F.gelu(self.enc(x))
        h = h + F.gelu(self.mix(F.gelu(self.mid(h))))
        return self.dec(h)


net = Denoiser()
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=300)

for step in range(300):
    batch = train[torch.randint(len(train), (64,))]
    noise = SIGMA * torch.randn_like(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        guess = net(batch + noise)
    loss = F.mse_loss(guess.float(), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 50 == 0 or step == 299:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            rest = fixed_noise - net(held_out + fixed_noise).float()
        print(f"step {step:3d}  loss {loss.item():.4f}  held-out {rest.square().mean():.4f}  noise {SIGMA**2:.4f}")
