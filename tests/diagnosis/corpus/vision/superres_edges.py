"""Double the resolution of pictures of smooth discs with a sub-pixel convolution network."""
# fault: clipping_always_binds

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)


def make_discs(n, size=24):
    c = torch.arange(size, dtype=torch.float32)
    y, x = c.view(1, -1, 1), c.view(1, 1, -1)
    image = torch.full((n, size, size), -1.0)
    for _ in range(3):
        cx, cy = torch.rand(2, n, 1, 1) * size
        radius = 3 + 4 * torch.rand(n, 1, 1)
        level = 2 * torch.rand(n, 1, 1) - 0.5
        mask = torch.sigmoid(3 * (radius - torch.sqrt((x - cx) ** 2 + (y - cy) ** 2)))
        image = image * (1 - mask) + level * mask
    return image.unsqueeze(1)


high = make_discs(600)
low = F.avg_pool2d(high, 2)
train_hi, train_lo = high[:500], low[:500]
val_hi, val_lo = high[500:], low[500:]


class SubPixelNet(nn.Module):
    def __init__(self, ch=24):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, ch, 5, padding=2),
            nn.LeakyReLU(0.1),
            nn.Conv2d(ch, ch, 3, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(ch, 4, 3, padding=1),
        )
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        return self.shuffle(self.body(x))


MAX_NORM = 1e-4  # FAULT
MAX_NORM = 1.0  # REPAIRED

sr = SubPixelNet()
sgd = torch.optim.SGD(sr.parameters(), lr=0.05, momentum=0.9)
it = 0
for epoch in range(1, 21):
    perm = torch.randperm(500)
    running = 0.0
    for chunk in perm.split(25):
        out = sr(train_lo[chunk])
        loss = F.mse_loss(out, train_hi[chunk])
        sgd.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(sr.parameters(), MAX_NORM)
        sgd.step()
        running += loss.item()
        it += 1
    if epoch % 4 == 0:
        with torch.no_grad():
            val = F.mse_loss(sr(val_lo), val_hi).item()
        psnr = 10 * torch.log10(torch.tensor(4.0 / val)).item()
        print(f"iter {it:4d}  train mse {running / 20:.4f}  val mse {val:.4f}  psnr {psnr:.2f} dB")
