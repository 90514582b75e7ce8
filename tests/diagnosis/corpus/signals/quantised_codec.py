"""Tiny wave codec: conv encoder, codes rounded to 16 levels (straight-through), conv decoder; own sign-momentum optimiser."""

import torch
import torch.nn.functional as F
from torch import nn


class RoundLevels(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, levels):
        return torch.round(z * levels) / levels

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class SignMomentum(torch.optim.Optimizer):
    """Moves every weight by +-lr along the sign of a blend of gradient and its running mean."""

    def __init__(self, params, lr=1e-3, beta1=0.9, beta2=0.98):
        super().__init__(params, dict(lr=lr, beta1=beta1, beta2=beta2))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"] = torch.zeros_like(p)
                m = state["m"]
                p.add_(torch.sign(group["beta1"] * m + (1 - group["beta1"]) * p.grad), alpha=-group["lr"])
                m.mul_(group["beta2"]).add_(p.grad, alpha=1 - group["beta2"])


class Codec(nn.Module):
    def __init__(self, levels=8):
        super().__init__()
        self.levels = levels
        self.enc = nn.Sequential(nn.Conv1d(1, 16, 8, 4, 2), nn.GELU(), nn.Conv1d(16, 4, 4, 2, 1), nn.Tanh())
        self.dec = nn.Sequential(nn.ConvTranspose1d(4, 16, 4, 2, 1), nn.GELU(), nn.ConvTranspose1d(16, 1, 8, 4, 2))

    def forward(self, wave):
        return self.dec(RoundLevels.apply(self.enc(wave), self.levels))


def waves(n, length=128):
    t = torch.arange(length) / length
    freq = 1 + 5 * torch.rand(n, 2, 1)
    phase = 6.2832 * torch.rand(n, 2, 1)
    amp = 0.5 + torch.rand(n, 2, 1)
    return (amp * torch.sin(6.2832 * freq * t + phase)).sum(1, keepdim=True)


torch.manual_seed(12)
test = waves(200)
codec = Codec()
opt = SignMomentum(codec.parameters(), lr=2e-3)
steps = 400
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 20) * (1 - s / steps))
for step in range(steps):
    wave = waves(32)
    loss = F.mse_loss(codec(wave), wave)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 50 == 49:
        with torch.no_grad():
            err = F.mse_loss(codec(test), test)
            snr = 10 * torch.log10(test.pow(2).mean() / err)
        print(f"step {step + 1}: mse {loss.item():.4f}  held-out mse {err.item():.4f}  snr {snr.item():.1f} dB")
