"""Card fraud: rare positives are oversampled to balance the classes, then an MLP is trained and tested."""
# fault: data_leak

import argparse

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, recall_score
from sklearn.model_selection import train_test_split
from torch import nn


def make_transactions(seed):
    x, y = make_classification(
        n_samples=8000,
        n_features=24,
        n_informative=10,
        n_redundant=2,
        weights=[0.92],
        class_sep=1.0,
        flip_y=0.01,
        random_state=seed,
    )
    return x.astype(np.float32), y.astype(np.float32)


def oversample(x, y, rng):
    fraud, normal = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    extra = rng.choice(fraud, size=len(normal) - len(fraud), replace=True)
    keep = np.concatenate([normal, fraud, extra])
    rng.shuffle(keep)
    return x[keep], y[keep]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=7e-4)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    x, y = make_transactions(args.seed)
    x, y = oversample(x, y, rng)  # FAULT
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, stratify=y, random_state=args.seed)
    x_train, y_train = oversample(x_train, y_train, rng)  # REPAIRED
    mean, std = x_train.mean(0), x_train.std(0)
    x_train = torch.from_numpy((x_train - mean) / std)
    x_test = torch.from_numpy((x_test - mean) / std)
    y_train = torch.from_numpy(y_train)

    net = nn.Sequential(nn.Linear(24, 256), nn.GELU(), nn.Linear(256, 64), nn.GELU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=args.lr, weight_decay=1e-4)
    bce = nn.BCEWithLogitsLoss()

    for epoch in range(args.epochs):
        net.train()
        total, batches = 0.0, 0
        for idx in torch.randperm(len(x_train)).split(128):
            opt.zero_grad()
            loss = bce(net(x_train[idx]).squeeze(1), y_train[idx])
            loss.backward()
            opt.step()
            total, batches = total + loss.item(), batches + 1
        print(f"epoch {epoch}: bce {total / batches:.4f}")

    net.eval()
    with torch.no_grad():
        logits = net(x_test).squeeze(1)
        test_loss = bce(logits, torch.from_numpy(y_test)).item()
        y_hat = (logits > 0).float().numpy()
    print(f"test bce {test_loss:.4f}")
    print(
        f"test fraud recall {recall_score(y_test, y_hat):.3f}  macro F1 {f1_score(y_test, y_hat, average='macro'):.3f}"
    )


if __name__ == "__main__":
    main()
