"""CNN that tells six texture patterns apart (stripes of several directions, checkerboard, rings), made per class."""

# fault: unshuffled_data
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2024)
SIDE = 12
yy, xx = torch.meshgrid(torch.arange(SIDE).float(), torch.arange(SIDE).float(), indexing="ij")


def pattern(c):
    a, b = torch.rand(2) * 6.28
    w = 1.2 + 0.6 * torch.rand(())
    if c == 0:
        return torch.sin(w * xx + a)
    if c == 1:
        return torch.sin(w * yy + a)
    if c == 2:
        return torch.sin(w * (xx + yy) * 0.7 + a)
    if c == 3:
        return torch.sin(w * (xx - yy) * 0.7 + a)
    if c == 4:
        return torch.sin(w * xx + a) * torch.sin(w * yy + b) * 1.5
    return torch.sin(w * torch.hypot(xx - 5.5, yy - 5.5) + a)


def build_dataset(per_class):
    images, labels = [], []
    for c in range(6):
        for _ in range(per_class):
            images.append(pattern(c) + 1.0 * torch.randn(SIDE, SIDE))
            labels.append(c)
    return TensorDataset(torch.stack(images).unsqueeze(1), torch.tensor(labels))


train_set, valid_set = build_dataset(200), build_dataset(60)
train_loader = DataLoader(train_set, batch_size=32)  # FAULT
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)  # REPAIRED
valid_loader = DataLoader(valid_set, batch_size=120)

cnn = nn.Sequential(
    nn.Conv2d(1, 10, 5, padding=2),
    nn.LeakyReLU(0.1),
    nn.AvgPool2d(2),
    nn.Conv2d(10, 20, 3, padding=1),
    nn.LeakyReLU(0.1),
    nn.AdaptiveMaxPool2d(2),
    nn.Flatten(),
    nn.Linear(80, 6),
)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(cnn.parameters(), lr=0.02, momentum=0.9)

for epoch in range(8):
    cnn.train()
    train_loss = 0.0
    for img, lab in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(cnn(img), lab)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    cnn.eval()
    with torch.no_grad():
        hits = sum((cnn(img).argmax(1) == lab).sum().item() for img, lab in valid_loader)
    print(
        "Epoch %d: train loss %.3f, valid acc %.1f%%"
        % (epoch, train_loss / len(train_loader), 100 * hits / len(valid_set))
    )
