"""Convolutions on digits; the pictures for the test are loaded on their own."""

# fault: evaluation_scale
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(33)
ALL = load_digits()


class Digits(Dataset):
    def __init__(self, rows, transform=None):
        self.pictures = torch.tensor(ALL.images[rows]).float().unsqueeze(1)
        self.names = torch.tensor(ALL.target[rows])
        self.transform = transform

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        picture = self.pictures[i]
        return (self.transform(picture) if self.transform else picture), self.names[i]


def normalise(picture):
    return (picture / 16 - 0.3) / 0.38


train_loader = DataLoader(Digits(slice(0, 1300), normalise), batch_size=65, shuffle=True)
test_loader = DataLoader(Digits(slice(1300, None)), batch_size=100)  # FAULT
test_loader = DataLoader(Digits(slice(1300, None), normalise), batch_size=100)  # REPAIRED

cnn = nn.Sequential(
    nn.Conv2d(1, 8, 3),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.Conv2d(8, 8, 3),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(128, 10),
)
optimizer = torch.optim.Adam(cnn.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(5):
    cnn.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(cnn(x), y)
        loss.backward()
        optimizer.step()
    cnn.eval()
    losses, right, seen = [], 0, 0
    with torch.no_grad():
        for x, y in test_loader:
            scores = cnn(x)
            losses.append(loss_fn(scores, y).item())
            right += (scores.argmax(1) == y).sum().item()
            seen += len(y)
    print(f"{epoch} train {loss.item():.3f} test {sum(losses) / len(losses):.3f} accuracy {right / seen:.3f}")
