"""Kaggle style: will it rain tomorrow? A plain feed-forward classifier on a table of station readings."""

# fault: dead_relu
import argparse

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn


def make_table(n, seed):
    r = np.random.RandomState(seed)
    humidity = r.uniform(20, 100, n)
    pressure = r.normal(1013, 9, n)
    dp = r.normal(0, 4, n)
    wind = r.gamma(2.0, 6.0, n)
    cloud = np.clip(humidity / 12 + r.normal(0, 1.5, n), 0, 8)
    month = r.randint(0, 12, n)
    score = 0.06 * (humidity - 60) - 0.12 * (pressure - 1013) - 0.35 * dp + 0.25 * (cloud - 5)
    score = score + 0.05 * (wind - 12) * np.sin(2 * np.pi * month / 12)
    rain = (score + r.logistic(0, 0.4, n) > 0).astype(np.int64)
    cols = [humidity, pressure, dp, wind, cloud, np.sin(2 * np.pi * month / 12), np.cos(2 * np.pi * month / 12)]
    return np.stack(cols, axis=1).astype(np.float32), rain


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        nn.init.constant_(m.bias, -6.0)  # FAULT
        nn.init.constant_(m.bias, 0.01)  # REPAIRED


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=2024)
    args, _ = parser.parse_known_args()
    torch.manual_seed(args.seed)

    table, rain = make_table(6000, args.seed)
    x_tr, x_va, y_tr, y_va = train_test_split(table, rain, test_size=0.25, random_state=args.seed, stratify=rain)
    scaler = StandardScaler().fit(x_tr)
    x_tr, x_va = torch.from_numpy(scaler.transform(x_tr)), torch.from_numpy(scaler.transform(x_va))
    y_tr, y_va = torch.from_numpy(y_tr), torch.from_numpy(y_va)

    body = nn.Sequential(nn.Linear(7, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
    body.apply(init_weights)
    clf = nn.Sequential(body, nn.Linear(32, 2))
    opt = torch.optim.SGD(clf.parameters(), lr=args.lr, momentum=0.9)

    for ep in range(args.epochs):
        clf.train()
        running = []
        idx = torch.randperm(len(x_tr))
        for k in range(0, len(idx), args.batch):
            b = idx[k : k + args.batch]
            loss = F.cross_entropy(clf(x_tr[b]), y_tr[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running.append(loss.item())
        clf.eval()
        with torch.no_grad():
            acc = (clf(x_va).argmax(1) == y_va).float().mean().item()
        print("epoch %d: loss=%.4f val_acc=%.3f" % (ep, sum(running) / len(running), acc))


if __name__ == "__main__":
    main()
