"""Odd or even? Digit images with labels from (simulated) crowd workers, a tenth of whom answer at random. Wide MLP."""

# fault: overfitting
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

torch.manual_seed(5)
N_TRAIN, EPOCHS = 100, 120  # FAULT
N_TRAIN, EPOCHS = 1200, 8  # REPAIRED
BS = 20

bunch = load_digits()
X = torch.as_tensor(bunch.data, dtype=torch.float32)
X = (X - 4.9) / 6.0
Y = torch.as_tensor(bunch.target % 2, dtype=torch.float32)
sloppy = torch.rand(len(Y)) < 0.1
Y = torch.where(sloppy, (torch.rand(len(Y)) < 0.5).float(), Y)

perm = torch.randperm(len(X))
val_i, train_i = perm[:450], perm[450 : 450 + N_TRAIN]

clf = nn.Sequential(
    nn.Linear(64, 200),
    nn.ReLU(),
    nn.Dropout(0.5),  # REPAIRED
    nn.Linear(200, 200),
    nn.ReLU(),
    nn.Dropout(0.5),  # REPAIRED
    nn.Linear(200, 200),
    nn.ReLU(),
    nn.Dropout(0.5),  # REPAIRED
    nn.Linear(200, 1),
    nn.Flatten(0),
)
adam = torch.optim.Adam(clf.parameters(), lr=1e-3)


def batches(indices):
    yield from indices[torch.randperm(len(indices))].split(BS)


history = {"train": [], "val": []}
for epoch in range(EPOCHS):
    clf.train()
    losses = []
    for b in batches(train_i):
        loss = bce(clf(X[b]), Y[b])
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.detach())
    clf.eval()
    with torch.no_grad():
        z = clf(X[val_i])
        history["val"].append(bce(z, Y[val_i]).item())
    history["train"].append(torch.stack(losses).mean().item())
    acc = ((z > 0) == (Y[val_i] > 0)).float().mean().item()
    print(
        f"{epoch + 1:3d}/{EPOCHS} loss={history['train'][-1]:.4f} val_loss={history['val'][-1]:.4f} val_acc={acc:.3f}"
    )

print("final:", {k: round(v[-1], 4) for k, v in history.items()}, "best val:", round(min(history["val"]), 4))
