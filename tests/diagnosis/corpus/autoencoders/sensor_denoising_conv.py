"""Denoising convolutional autoencoder for short sensor traces; reports the error on unseen traces after every epoch."""
# fault: eval_in_train_mode

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Traces(Dataset):
    """Clean trace: two slow waves. Noisy trace: the same plus white noise and a few lost samples."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        t = np.linspace(0, 2 * np.pi, 48)
        f = rng.integers(1, 4, size=(n, 2, 1))
        phase = rng.uniform(0, 2 * np.pi, size=(n, 2, 1))
        amp = rng.uniform(0.5, 1.2, size=(n, 2, 1))
        clean = (amp * np.sin(f * t + phase)).sum(1)
        noisy = clean + 0.35 * rng.normal(size=clean.shape)
        noisy[rng.random(clean.shape) < 0.05] = 0.0
        self.clean = clean.astype(np.float32)[:, None]
        self.noisy = noisy.astype(np.float32)[:, None]

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        return self.noisy[i], self.clean[i]


class DenoisingAE(nn.Module):
    def __init__(self, p=0.3):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 12, 5, stride=2, padding=2),
            nn.BatchNorm1d(12),
            nn.ELU(),
            nn.Conv1d(12, 24, 5, stride=2, padding=2),
            nn.BatchNorm1d(24),
            nn.ELU(),
            nn.Flatten(),
            nn.Dropout(p),
            nn.Linear(24 * 12, 32),
        )
        self.decoder = nn.Sequential(nn.Linear(32, 96), nn.ELU(), nn.Dropout(p), nn.Linear(96, 48))

    def forward(self, x):
        return self.decoder(self.encoder(x)).unsqueeze(1)


def train_one_epoch(model, loader, loss_fn, optimizer):
    model.train()
    total = 0.0
    for noisy, clean in loader:
        loss = loss_fn(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def test(model, loader, loss_fn):
    model.eval()  # REPAIRED
    total, n = 0.0, 0
    with torch.no_grad():
        for noisy, clean in loader:
            total += loss_fn(model(noisy), clean).item() * len(clean)
            n += len(clean)
    return total / n


if __name__ == "__main__":
    torch.manual_seed(31)
    train_loader = DataLoader(Traces(2560, seed=1), batch_size=64, shuffle=True)
    test_loader = DataLoader(Traces(512, seed=2), batch_size=64)
    model = DenoisingAE()
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 8):
        tr = train_one_epoch(model, train_loader, loss_fn, optimizer)
        te = test(model, test_loader, loss_fn)
        print(f"Epoch {epoch} | train mse {tr:.4f} | test mse {te:.4f}")
