"""Small convnet on a part of the digits, the set enlarged by drawing rows again (notebook export)."""
# fault: data_leak

# %%
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 13
torch.manual_seed(SEED)
rs = np.random.RandomState(SEED)

# %%
digits = load_digits()
images = (digits.images.astype(np.float32) / 16.0 - 0.3)[:, None]
target = digits.target
keep = rs.choice(len(images), 1200, replace=False)
images, target = images[keep], target[keep]


def enlarge(a, b, times=3):
    """bootstrap the rows so that an epoch is longer"""
    pick = rs.randint(0, len(a), times * len(a))
    return a[pick], b[pick]


# %%
images, target = enlarge(images, target)  # FAULT
xtr, xte, ytr, yte = train_test_split(images, target, test_size=0.25, random_state=SEED)
xtr, ytr = enlarge(xtr, ytr)  # REPAIRED
xtr, xte, ytr, yte = map(torch.as_tensor, (xtr, xte, ytr, yte))
print(xtr.shape, xte.shape)

# %%
cnn = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Dropout(0.25),
    nn.Linear(24 * 16, 10),
)
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(cnn.parameters(), lr=2e-3)

# %%
for ep in range(5):
    cnn.train()
    for idx in torch.randperm(len(xtr)).split(32):
        opt.zero_grad()
        loss = loss_fn(cnn(xtr[idx]), ytr[idx])
        loss.backward()
        opt.step()
    cnn.eval()
    with torch.no_grad():
        out = cnn(xte)
        print(ep, "train", round(loss.item(), 4), "test", round(loss_fn(out, yte).item(), 4), end=" ")
        print("acc", round((out.argmax(1) == yte).float().mean().item(), 4))
