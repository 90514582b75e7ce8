"""Classify noisy laboratory spectra into two materials; train and validation curves are kept for the figures."""
# fault: overfitting

import logging
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Cfg:
    n_train: int = 60  # FAULT
    n_train: int = 6000  # REPAIRED
    n_val: int = 500
    n_channels: int = 64
    hidden: int = 128
    steps: int = 400
    batch: int = 30
    lr: float = 1e-3
    seed: int = 12


def spectra(n, channels, rng):
    """A sloping baseline, two peaks of varying height; the material shows in the ratio of the peaks."""
    grid = np.linspace(0, 1, channels)
    label = rng.integers(0, 2, n)
    height = rng.uniform(0.6, 1.4, (n, 1))
    ratio = np.where(label, 1.25, 0.75)[:, None] + 0.08 * rng.standard_normal((n, 1))
    peak1 = np.exp(-(((grid - 0.3) / 0.05) ** 2))
    peak2 = np.exp(-(((grid - 0.7) / 0.05) ** 2))
    signal = height * peak1 + height * ratio * peak2 + 0.3 * rng.standard_normal((n, 1)) * (grid - 0.5)
    return signal + 0.25 * rng.standard_normal((n, channels)), label


class SpectraNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.l1 = nn.Linear(cfg.n_channels, cfg.hidden)
        self.l2 = nn.Linear(cfg.hidden, cfg.hidden)
        self.l3 = nn.Linear(cfg.hidden, 2)

    def forward(self, s):
        return self.l3(F.gelu(self.l2(F.gelu(self.l1(s)))))


class Trainer:
    def __init__(self, cfg):
        self.cfg, self.curves = cfg, []
        torch.manual_seed(cfg.seed)
        rng = np.random.default_rng(cfg.seed)
        s, y = spectra(cfg.n_train + cfg.n_val, cfg.n_channels, rng)
        s = (s - s[: cfg.n_train].mean()) / s[: cfg.n_train].std()
        s, y = torch.tensor(s, dtype=torch.float32), torch.tensor(y)
        self.s, self.y = s[: cfg.n_train], y[: cfg.n_train]
        self.s_val, self.y_val = s[cfg.n_train :], y[cfg.n_train :]
        self.net = SpectraNet(cfg)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=cfg.lr)

    def validate(self):
        self.net.eval()
        with torch.no_grad():
            logits = self.net(self.s_val)
            return F.cross_entropy(logits, self.y_val).item(), (logits.argmax(1) == self.y_val).float().mean().item()

    def fit(self):
        window = []
        for step in range(1, self.cfg.steps + 1):
            self.net.train()
            pick = torch.randint(0, len(self.s), (self.cfg.batch,))
            loss = F.cross_entropy(self.net(self.s[pick]), self.y[pick])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            window.append(loss.item())
            if step % 40 == 0:
                val_loss, val_acc = self.validate()
                self.curves.append((step, float(np.mean(window)), val_loss, val_acc))
                logging.info("step %4d train %.4f val %.4f acc %.3f", *self.curves[-1])
                window = []


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="[%(levelname)s] %(message)s")
    cfg = Cfg()
    logging.info("config: %s", asdict(cfg))
    Trainer(cfg).fit()
