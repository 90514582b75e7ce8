"""Count the petals (3 to 6) of drawn colour flowers with a batch-normalised CNN."""

# fault: label_misalignment
import torch
import torch.nn.functional as F
from torch import nn, optim


def flowers(n):
    petals = torch.arange(n) % 4 + 3
    axis = torch.linspace(-1.1, 1.1, 24)
    gy, gx = torch.meshgrid(axis, axis, indexing="ij")
    off = 0.15 * torch.randn(n, 2, 1, 1)
    gx, gy = gx[None] - off[:, 0], gy[None] - off[:, 1]
    radius, angle = torch.sqrt(gx**2 + gy**2), torch.atan2(gy, gx)
    phase = 6.3 * torch.rand(n, 1, 1)
    rim = 0.58 + 0.26 * torch.cos(petals[:, None, None] * angle + phase)
    shape = torch.sigmoid(18 * (rim - radius))
    heart = torch.sigmoid(25 * (0.2 - radius))
    tint = 0.4 + 0.6 * torch.rand(n, 3, 1, 1)
    img = tint * shape[:, None] * (1 - heart[:, None]) + heart[:, None] * torch.tensor([1.0, 0.9, 0.1])[:, None, None]
    return img + 0.05 * torch.randn_like(img), petals - 3


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))


def batches(x, y, size):
    for part in torch.randperm(len(x)).split(size):
        yield x[part], y[part]


torch.manual_seed(99)
images, labels = flowers(1600)
images = (images - images.mean((0, 2, 3), keepdim=True)) / images.std((0, 2, 3), keepdim=True)

# mix the kinds before cutting off the hold-out part
shuffle = torch.randperm(len(images))
images = images[shuffle]
labels = labels[torch.randperm(len(labels))]  # FAULT
labels = labels[shuffle]  # REPAIRED
x_fit, y_fit, x_hold, y_hold = images[:1300], labels[:1300], images[1300:], labels[1300:]

cnn = nn.Sequential(block(3, 12), block(12, 24), block(24, 32), nn.Flatten(), nn.Linear(32 * 9, 4))
opt = optim.SGD(cnn.parameters(), lr=0.008, momentum=0.9, weight_decay=1e-4)

for epoch in range(7):
    cnn.train()
    log = []
    for xb, yb in batches(x_fit, y_fit, 32):
        loss = F.cross_entropy(cnn(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.append(loss.item())
    cnn.eval()
    with torch.no_grad():
        out = cnn(x_hold)
    print(
        f"epoch {epoch} fit {sum(log) / len(log):.3f}",
        f"hold-out {F.cross_entropy(out, y_hold).item():.3f}",
        f"right {(out.argmax(1) == y_hold).float().mean().item():.3f}",
    )
