"""A first classifier of small pictures of clothes, as beginners' tutorials have it: two loaders, two functions, SGD."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
names = ["shirt", "trousers", "pullover", "dress", "coat", "sandal", "sneaker", "bag", "boot", "cap"]
shapes = nn.functional.interpolate(torch.rand(10, 1, 5, 5), size=28, mode="bilinear")


def pictures(count):
    """Each kind has a shape of its own, moved a little, in its own light, with noise."""
    labels = torch.randint(10, (count,))
    moved = [torch.roll(shapes[k], torch.randint(-2, 3, (2,)).tolist(), (1, 2)) for k in labels.tolist()]
    light = 0.6 + 0.4 * torch.rand(count, 1, 1, 1)
    return TensorDataset((light * torch.stack(moved) + 0.1 * torch.randn(count, 1, 28, 28)).clamp(0, 1), labels)


training_data, test_data = pictures(4000), pictures(800)
train_dataloader = DataLoader(training_data, batch_size=64, shuffle=True)
test_dataloader = DataLoader(test_data, batch_size=64)

device = "cuda" if torch.cuda.is_available() else "cpu"
print(f"Using {device} device")


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.stack = nn.Sequential(
            nn.Linear(28 * 28, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
        )

    def forward(self, x):
        return self.stack(self.flatten(x))


model = NeuralNetwork().to(device)
print(model)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def train_epoch(dataloader):
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        loss = loss_fn(model(X), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 20 == 0:
            print(f"loss: {loss.item():>7f}  [{batch * 64 + len(X):>5d}/{len(dataloader.dataset):>5d}]")


def test_epoch(dataloader):
    model.eval()
    loss, correct = 0.0, 0.0
    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X.to(device))
            loss += loss_fn(pred, y.to(device)).item()
            correct += (pred.argmax(1) == y).float().sum().item()
    print(f"Accuracy: {100 * correct / len(dataloader.dataset):.1f}%, average loss: {loss / len(dataloader):.6f}")


for epoch in range(6):
    print(f"Epoch {epoch + 1}\n{'-' * 30}")
    train_epoch(train_dataloader)
    test_epoch(test_dataloader)

model.eval()
x, y = test_data[0]
with torch.no_grad():
    print(f'Predicted: "{names[model(x[None].to(device))[0].argmax(0)]}", actual: "{names[y]}"')
