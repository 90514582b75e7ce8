"""Multi-class classification of the wine data with a class-based trainer."""
# fault: step_before_backward

import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from torch import nn


class Trainer:
    """Minimal trainer, keeps the history of the losses."""

    def __init__(self, net, optimizer, batch_size=16):
        self.net = net
        self.optimizer = optimizer
        self.batch_size = batch_size
        self.history = []

    def batches(self, x, y):
        order = torch.randperm(len(x))
        for i in range(0, len(x) - self.batch_size + 1, self.batch_size):
            j = order[i : i + self.batch_size]
            yield x[j], y[j]

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            self.net.train()
            for xb, yb in self.batches(x, y):
                self.optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.net(xb), yb)
                self.optimizer.step()  # FAULT
                loss.backward()
                self.optimizer.step()  # REPAIRED
                self.history.append(loss.item())
            yield sum(self.history[-6:]) / 6

    @torch.no_grad()
    def score(self, x, y):
        self.net.eval()
        return (self.net(x).argmax(-1) == y).float().mean().item()


def load(seed):
    x, y = load_wine(return_X_y=True)
    x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.3, stratify=y, random_state=seed)
    mean, std = x_tr.mean(0), x_tr.std(0)
    as_float = [torch.tensor((a - mean) / std, dtype=torch.float32) for a in (x_tr, x_te)]
    return as_float[0], torch.tensor(y_tr), as_float[1], torch.tensor(y_te)


if __name__ == "__main__":
    torch.manual_seed(21)
    x_tr, y_tr, x_te, y_te = load(seed=21)
    net = nn.Sequential(nn.Linear(13, 32), nn.Tanh(), nn.Dropout(0.2), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 3))
    trainer = Trainer(net, torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.05))
    for epoch, loss in enumerate(trainer.fit(x_tr, y_tr, epochs=60)):
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {loss:.4f}, test accuracy {trainer.score(x_te, y_te):.3f}")
