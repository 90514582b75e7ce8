"""Residual U-Net that removes noise from made-up 16x16 pictures of rectangles and discs; trainer with EMA and PSNR."""

from __future__ import annotations

import argparse
import copy
import logging

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

logger = logging.getLogger("denoise")


class Shapes(IterableDataset):
    """Endless stream of (noisy, clean) pictures."""

    def __init__(self, seed: int, noise: float) -> None:
        self.seed, self.noise = seed, noise

    def __iter__(self):
        gen = torch.Generator().manual_seed(self.seed)
        row, col = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
        while True:
            cy, cx, r, kind, level = torch.rand(5, generator=gen).tolist()
            dy, dx, r = row - (4 + 8 * cy), col - (4 + 8 * cx), 2 + 4 * r
            inside = (dy**2 + dx**2 < r * r) if kind < 0.5 else ((dy.abs() < r) & (dx.abs() < 0.6 * r))
            clean = torch.where(inside, 0.4 + level, -0.6).unsqueeze(0)
            yield clean + self.noise * torch.randn(1, 16, 16, generator=gen), clean


def conv(i: int, o: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU())


class UNet(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.enc1, self.enc2 = conv(1, width), conv(width, 2 * width)
        self.mid = conv(2 * width, 2 * width)
        self.dec2, self.dec1 = conv(4 * width, width), conv(2 * width, width)
        self.pool, self.up = nn.AvgPool2d(2), nn.Upsample(scale_factor=2, mode="nearest")
        self.out = nn.Conv2d(width, 1, 1)
        nn.init.zeros_(self.out.weight)  # starts as the identity
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor) -> Tensor:
        a = self.enc1(x)
        b = self.enc2(self.pool(a))
        c = self.mid(self.pool(b))
        d = self.dec2(torch.cat([self.up(c), b], dim=1))
        return x - self.out(self.dec1(torch.cat([self.up(d), a], dim=1)))


def psnr(model: nn.Module, batch: tuple[Tensor, Tensor]) -> float:
    with torch.inference_mode():
        mse = nn.functional.mse_loss(model(batch[0]), batch[1])
    return (10 * torch.log10(4.0 / mse)).item()


def main() -> None:
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=160)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--width", type=int, default=8)
    ap.add_argument("--noise", type=float, default=0.5)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--seed", type=int, default=31)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.manual_seed(args.seed)
    model = UNet(args.width)
    ema = copy.deepcopy(model).requires_grad_(False)
    held_out = next(iter(DataLoader(Shapes(args.seed + 1000, args.noise), 200)))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    warmup = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=15)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps - 15)
    sched = torch.optim.lr_scheduler.SequentialLR(opt, [warmup, cosine], [15])
    logger.info("psnr of the noisy pictures %.2f dB", psnr(nn.Identity(), held_out))
    for step, (noisy, clean) in zip(range(1, args.steps + 1), DataLoader(Shapes(args.seed, args.noise), args.batch)):
        loss = nn.functional.mse_loss(model(noisy), clean)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(ema.parameters()), list(model.parameters()), 0.05)
        if step % 40 == 0:
            logger.info(
                "step %d loss %.4f psnr %.2f ema %.2f", step, loss.item(), psnr(model, held_out), psnr(ema, held_out)
            )


if __name__ == "__main__":
    main()
