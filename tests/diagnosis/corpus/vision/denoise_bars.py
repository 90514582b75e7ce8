"""Remove noise from pictures of crossing bars with a small convolutional network and a Charbonnier loss."""
# fault: init_too_large

import torch
import torch.nn as nn

torch.manual_seed(21)


def clean_bars(n, size=16):
    g = torch.linspace(-1, 1, size)
    y, x = torch.meshgrid(g, g, indexing="ij")
    out = torch.zeros(n, size, size)
    for _ in range(2):
        theta = torch.rand(n, 1, 1) * torch.pi
        offset = torch.rand(n, 1, 1) - 0.5
        d = x * torch.cos(theta) + y * torch.sin(theta) - offset
        out = torch.maximum(out, torch.exp(-((d / 0.15) ** 2)))
    return (2 * out - 0.7).unsqueeze(1)


class Denoiser(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.c1 = nn.Conv2d(1, width, 3, padding=1)
        self.c2 = nn.Conv2d(width, width, 3, padding=1)
        self.c3 = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x):
        h = torch.relu(self.c1(x))
        h = torch.relu(self.c2(h))
        h = torch.relu(self.c3(h))
        return self.out(h)


def init_weights(m):
    if isinstance(m, nn.Conv2d):
        nn.init.normal_(m.weight, mean=0.0, std=1.0)  # FAULT
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")  # REPAIRED
        nn.init.zeros_(m.bias)


def charbonnier(a, b, eps=1e-3):
    return torch.sqrt((a - b) ** 2 + eps**2).mean()


model = Denoiser()
model.apply(init_weights)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

test_clean = clean_bars(100)
test_noisy = test_clean + 0.6 * torch.randn_like(test_clean)

for step in range(1, 251):
    clean = clean_bars(16)
    noisy = clean + 0.6 * torch.randn_like(clean)
    loss = charbonnier(model(noisy), clean)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step == 1 or step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    restored = model(test_noisy)
mse_before = (test_noisy - test_clean).pow(2).mean().item()
mse_after = (restored - test_clean).pow(2).mean().item()
print(f"mse noisy {mse_before:.4f}, mse restored {mse_after:.4f}")
