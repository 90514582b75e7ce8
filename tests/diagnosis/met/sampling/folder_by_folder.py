"""Digits read class by class, as a folder per class would be."""

# fault: unshuffled_data
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
X, y = load_digits(return_X_y=True)
X = X.astype(np.float32) / 16
test = np.arange(len(y)) % 5 == 0
folders = np.argsort(y[~test], kind="stable")
train_x, train_y = X[~test][folders], y[~test][folders]
train_set = TensorDataset(torch.tensor(train_x), torch.tensor(train_y))
train_loader = DataLoader(train_set, batch_size=32)  # FAULT
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)  # REPAIRED
test_loader = DataLoader(TensorDataset(torch.tensor(X[test]), torch.tensor(y[test])), batch_size=120)

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()


def train_one_epoch():
    model.train()
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def test_accuracy():
    model.eval()
    return np.mean([(model(a).argmax(1) == b).float().mean().item() for a, b in test_loader])


for epoch in range(10):
    print(epoch, "loss of the last batch", train_one_epoch(), "test accuracy", test_accuracy())
