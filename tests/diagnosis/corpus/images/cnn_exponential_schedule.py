"""LeNet-like tanh network on digits with SGD and an exponential learning rate schedule."""

# fault: lr_decayed_to_zero
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.utils.data import DataLoader, Subset, TensorDataset


def loaders(bs):
    X, y = load_digits(return_X_y=True)
    X = (torch.FloatTensor(X).view(-1, 1, 8, 8) - 5) / 6
    ds = TensorDataset(X, torch.LongTensor(y))
    perm = torch.randperm(len(ds), generator=torch.Generator().manual_seed(0)).tolist()
    return DataLoader(Subset(ds, perm[:1347]), batch_size=bs, shuffle=True), DataLoader(Subset(ds, perm[1347:]), bs)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 3))
        self.classifier = nn.Sequential(nn.Tanh(), nn.Flatten(), nn.Linear(64, 40), nn.Tanh(), nn.Linear(40, 10))

    def forward(self, x):
        return torch.log_softmax(self.classifier(self.features(x)), dim=-1)


def test(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for data, target in loader:
            right += model(data).argmax(dim=1).eq(target).sum().item()
    return right / len(loader.dataset)


def main():
    torch.manual_seed(99)
    train_loader, test_loader = loaders(bs=32)
    model = LeNet()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)
    criterion = nn.NLLLoss()
    for epoch in range(1, 11):
        model.train()
        for batch_idx, (data, target) in enumerate(train_loader):
            optimizer.zero_grad()
            loss = criterion(model(data), target)
            loss.backward()
            optimizer.step()
            scheduler.step()  # FAULT
            if batch_idx % 20 == 0:
                print(f"Train Epoch: {epoch} [{batch_idx}/{len(train_loader)}]\tLoss: {loss.item():.6f}")
        scheduler.step()  # REPAIRED
        print(f"Test accuracy: {test(model, test_loader):.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
