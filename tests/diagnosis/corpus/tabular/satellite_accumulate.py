"""Land cover from 36 pixel values, micro-batches of 16 accumulated to an effective batch of 64."""

import argparse

import torch
from sklearn.datasets import make_blobs
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def get_args():
    p = argparse.ArgumentParser(description="land cover classifier")
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--micro-batch", type=int, default=16)
    p.add_argument("--accumulate", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def build_data(seed):
    # seven cover types, each made of three spectral clusters
    pixels, cluster = make_blobs(n_samples=8000, n_features=36, centers=21, cluster_std=7.0, random_state=seed)
    pixels = torch.tensor(pixels, dtype=torch.float32)
    cover = torch.tensor(cluster % 7)
    index = torch.randperm(len(pixels)).tolist()
    pixels = (pixels - pixels[index[:6400]].mean()) / pixels[index[:6400]].std()
    full = TensorDataset(pixels, cover)
    return Subset(full, index[:6400]), Subset(full, index[6400:])


def evaluate(model, loader, criterion):
    model.eval()
    loss = hits = n = 0
    with torch.inference_mode():
        for x, y in loader:
            out = model(x)
            loss += criterion(out, y).item() * len(y)
            hits += int((out.argmax(1) == y).sum())
            n += len(y)
    return loss / n, hits / n


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    train, test = build_data(args.seed)
    train_loader = DataLoader(train, batch_size=args.micro_batch, shuffle=True, drop_last=True)
    test_loader = DataLoader(test, batch_size=320)

    model = nn.Sequential(nn.Linear(36, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 7))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad()
        running = 0.0
        for i, (x, y) in enumerate(train_loader, start=1):
            loss = criterion(model(x), y) / args.accumulate
            loss.backward()
            running += loss.item() * args.accumulate
            if i % args.accumulate == 0:
                nn.utils.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                optimizer.zero_grad()
        test_loss, test_acc = evaluate(model, test_loader, criterion)
        print(f"{epoch=} train={running / len(train_loader):.4f} test={test_loss:.4f} acc={test_acc:.3%}")


if __name__ == "__main__":
    main()
