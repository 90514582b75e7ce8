"""MLP with batch norm and dropout on digits, wrapped in a small Trainer class that logs a validation report."""

# fault: eval_in_train_mode
import logging
from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("digits")


@dataclass
class Config:
    hidden: int = 96
    dropout: float = 0.5
    lr: float = 2e-3
    batch_size: int = 40
    epochs: int = 14
    seed: int = 7


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        data = load_digits()
        parts = train_test_split(data.data, data.target, train_size=1440, random_state=cfg.seed)
        scaler = StandardScaler().fit(parts[0])
        train, val = (self.dataset(scaler.transform(x), y) for x, y in (parts[::2], parts[1::2]))
        self.train_loader = DataLoader(train, batch_size=cfg.batch_size, shuffle=True, drop_last=True)
        self.val_loader = DataLoader(val, batch_size=12)
        self.net = nn.Sequential(
            self.block(64, cfg.hidden), self.block(cfg.hidden, cfg.hidden), nn.Linear(cfg.hidden, 10)
        )
        self.optim = torch.optim.AdamW(self.net.parameters(), lr=cfg.lr, weight_decay=1e-2)
        self.criterion = nn.CrossEntropyLoss()

    @staticmethod
    def dataset(x, y):
        return TensorDataset(torch.tensor(x).float(), torch.tensor(y).long())

    def block(self, n_in, n_out):
        return nn.Sequential(nn.Linear(n_in, n_out), nn.BatchNorm1d(n_out), nn.ReLU(), nn.Dropout(self.cfg.dropout))

    def train_epoch(self):
        self.net.train()
        total = 0.0
        for xb, yb in self.train_loader:
            self.optim.zero_grad(set_to_none=True)
            loss = self.criterion(self.net(xb), yb)
            loss.backward()
            self.optim.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()  # REPAIRED
        hits, total, n = 0, 0.0, 0
        for xb, yb in self.val_loader:
            scores = self.net(xb)
            total += self.criterion(scores, yb).item() * len(xb)
            hits += int((scores.argmax(-1) == yb).sum())
            n += len(xb)
        return total / n, hits / n

    def fit(self):
        for epoch in range(1, self.cfg.epochs + 1):
            tr = self.train_epoch()
            va, acc = self.evaluate()
            log.info("epoch %02d train_loss=%.4f val_loss=%.4f val_acc=%.3f", epoch, tr, va, acc)


if __name__ == "__main__":
    Trainer(Config()).fit()
