"""Learn heartbeat shapes with a denoising autoencoder first, then name the rhythm with a head on top."""

import sys

import torch
from torch import nn

torch.manual_seed(30)
T = 48
grid = torch.linspace(0, 1, T)


def record(n):
    kind = torch.randint(0, 3, (n,))
    rate = torch.tensor([2.0, 4.0, 3.0])[kind] + 0.25 * torch.randn(n)
    phase = torch.rand(n)
    wave = torch.sin(2 * torch.pi * (rate[:, None] * grid + 0.3 * phase[:, None]))
    drift = (kind == 2).float()[:, None] * (grid - 0.5) * 2
    return wave + drift + 0.1 * torch.randn(n, T), kind


traces, rhythm = record(2500)
train_x, train_y, test_x, test_y = traces[:2000], rhythm[:2000], traces[2000:], rhythm[2000:]

encoder = nn.Sequential(nn.Linear(T, 64), nn.SiLU(), nn.Linear(64, 12))
decoder = nn.Sequential(nn.Linear(12, 64), nn.SiLU(), nn.Linear(64, T))

# stage 1: the target is the input itself
params = list(encoder.parameters()) + list(decoder.parameters())
opt = torch.optim.Adam(params, lr=3e-3)
plan = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=3e-3, total_steps=400)
for step in range(400):
    clean = train_x[torch.randint(0, 2000, (64,))]
    noisy = clean + 0.2 * torch.randn_like(clean)
    mse = ((decoder(encoder(noisy)) - clean) ** 2).mean()
    opt.zero_grad()
    mse.backward()
    opt.step()
    plan.step()
    if step % 100 == 0 or step == 399:
        print(f"autoencoder step {step}: mse {mse.item():.4f}")

# stage 2: only the head learns, it starts at zero so that all three rhythms are equally likely
for p in encoder.parameters():
    p.requires_grad_(False)
encoder.eval()
with torch.no_grad():
    codes = encoder(train_x)
    center, spread = codes.mean(0), codes.std(0)

hidden, head = nn.Linear(12, 32), nn.Linear(32, 3)
nn.init.zeros_(head.weight)
nn.init.zeros_(head.bias)


def classify(x):
    return head(torch.tanh(hidden((encoder(x) - center) / spread)))


opt = torch.optim.AdamW([*hidden.parameters(), *head.parameters()], lr=4e-3)
ce = nn.CrossEntropyLoss(label_smoothing=0.05)
for step in range(300):
    pick = torch.randint(0, 2000, (64,))
    loss = ce(classify(train_x[pick]), train_y[pick])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0 or step == 299:
        with torch.no_grad():
            acc = (classify(test_x).argmax(1) == test_y).float().mean().item()
        print(f"head step {step}: loss {loss.item():.3f} test accuracy {acc:.3f}")

sys.exit(0 if acc > 0.8 else 1)
