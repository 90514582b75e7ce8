"""Denoising autoencoder for drawn fern fronds; the pictures shown at the end come from an averaged (EMA) copy."""

import copy

import torch
from torch import nn

torch.manual_seed(21)


def fronds(n, size=16):
    # a curved stem with leaflets on both sides
    t = torch.linspace(0, 1, size).view(1, size, 1)
    col = torch.linspace(-1, 1, size).view(1, 1, size)
    bend = torch.randn(n, 1, 1) * 0.5
    stem = bend * (t - 0.2) ** 2
    width = (0.25 + 0.5 * torch.rand(n, 1, 1)) * (1 - t) + 0.1
    ripple = 0.5 + 0.5 * torch.sin(t * (12 + 12 * torch.rand(n, 1, 1)))
    img = torch.sigmoid(16 * (width * ripple - (col - stem).abs() + 0.05))
    return img.unsqueeze(1)


train, held_out = fronds(1500), fronds(300)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.GELU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GELU()
        )
        self.squeeze = nn.Linear(32 * 16, 24)
        self.expand = nn.Linear(24, 32 * 16)
        self.dec = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.GELU(), nn.ConvTranspose2d(16, 1, 4, 2, 1)
        )

    def forward(self, x):
        z = self.squeeze(self.enc(x).flatten(1))
        return torch.sigmoid(self.dec(self.expand(z).view(-1, 32, 4, 4)))


ae = Denoiser()
shadow = copy.deepcopy(ae).requires_grad_(False)
STEPS = 400
opt = torch.optim.AdamW(ae.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=3e-3, total_steps=STEPS)

for step in range(STEPS):
    clean = train[torch.randint(0, len(train), (48,))]
    noisy = clean + 0.25 * torch.randn_like(clean)
    loss = (ae(noisy) - clean).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    with torch.no_grad():
        for slow, fast in zip(shadow.parameters(), ae.parameters(), strict=True):
            slow.lerp_(fast, 1 - min(0.97, (step + 1) / (step + 10)))
    if step % 50 == 0 or step == STEPS - 1:
        print(f"{step:4d}  mse {loss.item():.4f}  lr {sched.get_last_lr()[0]:.2e}")

shadow.eval()
with torch.no_grad():
    dirty = held_out + 0.25 * torch.randn_like(held_out)
    before = (dirty - held_out).square().mean().item()
    after = (shadow(dirty) - held_out).square().mean().item()
print(f"held-out: noisy mse {before:.4f} -> denoised by EMA model {after:.4f}")
