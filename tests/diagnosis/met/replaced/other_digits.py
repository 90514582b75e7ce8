"""Fine-tune a network that was trained for the even digits' task on all ten digits."""

# fault: optimizer_missing_params
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 8 - 1
full = TensorDataset(X, torch.tensor(y))
train_set, val_set = random_split(full, [1300, len(full) - 1300])


class SmallConv(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()
        )
        self.fc = nn.Linear(16 * 16, classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


net = SmallConv(classes=1000)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)  # FAULT
net.fc = nn.Linear(256, 10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)  # REPAIRED
loss_fn = nn.CrossEntropyLoss()
for epoch in range(6):
    net.train()
    for images, labels in DataLoader(train_set, batch_size=64, shuffle=True):
        optimizer.zero_grad()
        loss = loss_fn(net(images), labels)
        loss.backward()
        optimizer.step()
    net.eval()
    right = 0
    with torch.no_grad():
        for images, labels in DataLoader(val_set, batch_size=128):
            right += (net(images).argmax(1) == labels).sum().item()
    print(f"epoch {epoch} loss {loss.item():.3f} val acc {right / len(val_set):.3f}")
