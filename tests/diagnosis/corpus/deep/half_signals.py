"""Mixed-precision training of a network that smooths noisy signals; the loss is weighted as in the paper."""
# fault: fp16_underflow

import torch
import torch.nn as nn

torch.manual_seed(77)
LAMBDA_REC = 1e-4
LENGTH = 96


def signals(n):
    t = torch.linspace(0, 1, LENGTH)
    decay = 1 + 4 * torch.rand(n, 1)
    freq = 4 + 8 * torch.rand(n, 1)
    return torch.exp(-decay * t) * torch.cos(freq * t)


class Smoother(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.inp = nn.Linear(LENGTH, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, LENGTH)

    def forward(self, x):
        h = nn.functional.silu(self.inp(x))
        h = nn.functional.silu(self.mid(h))
        return self.out(h)


net = Smoother()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu")  # REPAIRED
clean = signals(2048)
noisy = clean + 0.2 * torch.randn_like(clean)
held_clean = signals(256)
held_noisy = held_clean + 0.2 * torch.randn_like(held_clean)

for step in range(300):
    batch = torch.randint(len(clean), (128,))
    with torch.autocast("cpu", dtype=torch.float16):
        restored = net(noisy[batch])
        loss = LAMBDA_REC * torch.mean((restored - clean[batch]) ** 2)
    opt.zero_grad()
    loss.backward()  # FAULT
    opt.step()  # FAULT
    scaler.scale(loss).backward()  # REPAIRED
    scaler.step(opt)  # REPAIRED
    scaler.update()  # REPAIRED
    if step % 50 == 0 or step == 299:
        print(f"step {step:3d}: rec {loss.item() / LAMBDA_REC:.5f}")

net.eval()
with torch.no_grad():
    err = (net(held_noisy) - held_clean).pow(2).mean().item()
print(f"held-out mse {err:.5f}, of the noisy input {(held_noisy - held_clean).pow(2).mean().item():.5f}")
