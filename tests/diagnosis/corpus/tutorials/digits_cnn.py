"""A tiny convolutional network that reads 8x8 handwritten digits."""
# fault: softmax_before_ce

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
images = (images - 0.3) / 0.37
labels = torch.tensor(digits.target, dtype=torch.long)
x_tr, x_te, y_tr, y_te = train_test_split(images, labels, test_size=0.25, random_state=0)

train_dl = DataLoader(TensorDataset(x_tr, y_tr), batch_size=32, shuffle=True)
test_dl = DataLoader(TensorDataset(x_te, y_te), batch_size=128)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 2 * 2, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return F.softmax(self.fc2(x), dim=1)  # FAULT
        return self.fc2(x)  # REPAIRED


def evaluate(model):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_dl:
            correct += (model(x).argmax(1) == y).sum().item()
    return 100.0 * correct / len(test_dl.dataset)


model = CNN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)

for epoch in range(8):
    model.train()
    epoch_loss = 0.0
    for x, y in train_dl:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    print(f"[{epoch + 1}] loss: {epoch_loss / len(train_dl):.3f}  test accuracy: {evaluate(model):.1f}%")
print("Finished Training")
