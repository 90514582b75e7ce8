"""Tells from a recorded swing whether an oscillator is under-damped, nearly critical, over-damped or driven."""
# fault: unshuffled_data

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

REGIMES = {"under": (0.1, 0.5), "near critical": (0.7, 1.3), "over": (2.0, 4.0), "driven": (0.1, 1.0)}


def simulate(zeta, drive, rng, samples=48, sub=5):
    """Semi-implicit Euler for x'' = -2 zeta x' - x + drive cos(1.7 t)."""
    n = len(zeta)
    x, v = rng.uniform(0.8, 1.6, n) * rng.choice([-1, 1], n), rng.normal(0, 0.4, n)
    rec, h, t = [], 0.05, 0.0
    for _ in range(samples):
        for _ in range(sub):
            v = v + h * (-2 * zeta * v - x + drive * np.cos(1.7 * t))
            x = x + h * v
            t += h
        rec.append(x + 0.08 * rng.normal(size=n))
    return np.stack(rec, 1)


class Swings(Dataset):
    def __init__(self, per_regime, seed):
        rng = np.random.default_rng(seed)
        xs, ys = [], []
        for k, (name, (lo, hi)) in enumerate(REGIMES.items()):
            drive = rng.uniform(0.4, 1.0, per_regime) if name == "driven" else np.zeros(per_regime)
            xs.append(simulate(rng.uniform(lo, hi, per_regime), drive, rng))
            ys.append(np.full(per_regime, k))
        self.x = torch.tensor(np.concatenate(xs), dtype=torch.float32)
        self.y = torch.tensor(np.concatenate(ys))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i : i + 1] / 0.6, self.y[i]


def main():
    torch.manual_seed(15)
    train, test = Swings(300, seed=1), Swings(80, seed=2)
    loader = DataLoader(train, batch_size=24)  # FAULT
    loader = DataLoader(train, batch_size=24, shuffle=True)  # REPAIRED
    test_loader = DataLoader(test, batch_size=160)
    net = nn.Sequential(
        nn.Conv1d(1, 12, 7, stride=2, padding=3),
        nn.ReLU(),
        nn.Conv1d(12, 24, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(24 * 12, 32),
        nn.ReLU(),
        nn.Linear(32, len(REGIMES)),
    )
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.8)
    ce = nn.CrossEntropyLoss()
    for epoch in range(10):
        net.train()
        losses = []
        for swing, regime in loader:
            loss = ce(net(swing), regime)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        net.eval()
        right = 0
        with torch.no_grad():
            for swing, regime in test_loader:
                right += (net(swing).argmax(1) == regime).sum().item()
        print(f"epoch {epoch}: loss {np.mean(losses):.4f} test accuracy {right / len(test):.3f}")


if __name__ == "__main__":
    main()
