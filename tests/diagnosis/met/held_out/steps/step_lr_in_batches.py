"""Ten epochs with a rate that is to be cut by ten twice; the scheduler moved into the inner loop."""
# fault: lr_decayed_to_zero

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--gamma", type=float, default=0.1)
args = parser.parse_args()

torch.manual_seed(1)
x, y = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(x / 8 - 1, dtype=torch.float32).view(-1, 1, 8, 8), torch.tensor(y))
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(256, 64),
    nn.ReLU(),
    nn.Linear(64, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
scheduler = StepLR(optimizer, step_size=4, gamma=args.gamma)
for epoch in range(args.epochs):
    total = 0.0
    for images, labels in DataLoader(data, batch_size=64, shuffle=True):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()  # FAULT
        total += loss.item()
    scheduler.step()  # REPAIRED
    print(f"epoch {epoch} loss {total / 29:.3f}")
