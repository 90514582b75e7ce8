"""Denoising autoencoder: noisy sine mixtures in, clean ones out. Uses torch.compile where it works."""

import time

import numpy as np
import torch
import torch.nn as nn

SEED = 5
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)


def clean_signals(n, length=64):
    t = np.linspace(0, 1, length)[None]
    freq = rng.uniform(1, 4, (n, 1))
    shift = rng.uniform(0, 2 * np.pi, (n, 1))
    amp = rng.uniform(0.5, 1.5, (n, 1))
    return torch.as_tensor(amp * np.sin(2 * np.pi * freq * t + shift), dtype=torch.float32)


x_train, x_val = clean_signals(2000), clean_signals(400)
noisy_val = x_val + 0.4 * torch.randn_like(x_val)

autoencoder = nn.Sequential(
    nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16), nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64)
)
try:
    model = torch.compile(autoencoder, backend="eager")
    model(x_train[:2])
except Exception as exc:  # old torch, unsupported python, ...
    print("torch.compile not available:", exc)
    model = autoencoder

criterion = nn.MSELoss()
optimizer = torch.optim.RMSprop(autoencoder.parameters(), lr=1e-3)
n_epochs, bs = 25, 50
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.4)

start = time.time()
for epoch in range(n_epochs):
    model.train()
    running = 0.0
    for idx in torch.randperm(len(x_train)).split(bs):
        clean = x_train[idx]
        corrupted = clean + 0.4 * torch.randn_like(clean)
        optimizer.zero_grad()
        loss = criterion(model(corrupted), clean)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    scheduler.step()
    if (epoch + 1) % 5 == 0:
        model.eval()
        with torch.no_grad():
            val = criterion(model(noisy_val), x_val).item()
        print(f"epoch {epoch + 1}/{n_epochs} - loss: {running / len(x_train):.4f} - val_loss: {val:.4f}")
print(f"done in {time.time() - start:.1f}s; error of the noisy input itself: {criterion(noisy_val, x_val).item():.4f}")
