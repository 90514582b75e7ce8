"""Self-supervised digits: two noisy views of each image, InfoNCE loss, matching of unseen images."""
# fault: lr_too_high

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(1234)

digits = load_digits()
X_train, X_test = train_test_split(digits.images / 16.0, test_size=0.2, random_state=1234, stratify=digits.target)
X_train = torch.tensor(X_train, dtype=torch.float32)[:, None]
X_test = torch.tensor(X_test, dtype=torch.float32)[:, None]
mean, std = X_train.mean(), X_train.std()
X_train, X_test = (X_train - mean) / std, (X_test - mean) / std


def augment(img):
    shift = torch.randint(-1, 2, (len(img), 1, 1, 1))
    columns = (torch.arange(8) + shift).clamp(0, 7).expand(-1, 1, 8, 8)
    keep = (torch.rand_like(img) > 0.1).float()
    return img.gather(3, columns) * keep + 0.2 * torch.randn_like(img)


encoder = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.GELU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1),
    nn.GELU(),
    nn.Flatten(),
    nn.Linear(32 * 16, 64),
)
projector = nn.Sequential(nn.GELU(), nn.Linear(64, 32))


def info_nce(z1, z2):
    logits = z1 @ z2.T / z1.shape[1] ** 0.5
    labels = torch.arange(len(z1))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


@torch.no_grad()
def matched():
    """How often is the second view of an unseen image the best match of its first view?"""
    a, b = (projector(encoder(augment(X_test))) for _ in range(2))
    return ((a @ b.T).argmax(1) == torch.arange(len(a))).float().mean().item()


optimizer = torch.optim.Adam([*encoder.parameters(), *projector.parameters()], lr=0.5)  # FAULT
optimizer = torch.optim.Adam([*encoder.parameters(), *projector.parameters()], lr=3e-3)  # REPAIRED

for step in range(1, 251):
    batch = X_train[torch.randperm(len(X_train))[:96]]
    loss = info_nce(projector(encoder(augment(batch))), projector(encoder(augment(batch))))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 1:
        print(f"step {step:3d}  loss {loss.item():.3f}  matched {matched():.3f}")
