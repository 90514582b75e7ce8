"""Small CNN for the 8x8 handwritten digits, prints accuracy on a held-out part."""

# fault: softmax_before_ce
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)

X, y = load_digits(return_X_y=True)
X = (X.reshape(-1, 1, 8, 8) / 16.0 - 0.3) / 0.38
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=42, stratify=y)

train_ds = TensorDataset(torch.tensor(X_train, dtype=torch.float32), torch.tensor(y_train))
test_ds = TensorDataset(torch.tensor(X_test, dtype=torch.float32), torch.tensor(y_test))
train_dl = DataLoader(train_ds, batch_size=32, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=128)


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 2 * 2, 48)
        self.out = nn.Linear(48, 10)
        for layer in (self.conv1, self.conv2, self.fc1):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return F.softmax(self.out(x), dim=1)  # FAULT
        return self.out(x)  # REPAIRED


model = DigitNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)

for epoch in range(8):
    model.train()
    running = 0.0
    for images, labels in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(images)

    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in test_dl:
            correct += (model(images).argmax(1) == labels).sum().item()
    print(f"epoch {epoch + 1:2d}  loss {running / len(train_ds):.4f}  test acc {correct / len(test_ds):.4f}")
