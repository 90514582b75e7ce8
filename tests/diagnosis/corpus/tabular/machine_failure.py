"""Predict machine failures in the next hour from eight sensor readings (a binary classifier)."""
# fault: class_imbalance

import torch
from sklearn.metrics import balanced_accuracy_score, confusion_matrix
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

g = torch.Generator().manual_seed(2024)
torch.manual_seed(2024)


def simulate(n):
    """Hot and loaded machines fail much more often than the others."""
    readings = torch.randn(n, 8, generator=g)
    stress = 0.8 * readings[:, 0] + 0.8 * readings[:, 1] - 0.5 * readings[:, 2]
    risk = torch.where(stress > 1.75, 0.22, 0.0008)
    failed = (torch.rand(n, generator=g) < risk).float()
    return readings, failed


X, y = simulate(12000)
dataset = TensorDataset(X, y)
train_set, test_set = random_split(dataset, [9600, 2400], generator=g)
train_dl = DataLoader(train_set, batch_size=128, shuffle=True)
test_dl = DataLoader(test_set, batch_size=512)

y_train = y[train_set.indices]
print(f"failures in training data: {int(y_train.sum())} of {len(y_train)}")

model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 1))
loss_fn = nn.BCEWithLogitsLoss()  # FAULT
loss_fn = nn.BCEWithLogitsLoss(pos_weight=(1 - y_train).sum() / y_train.sum())  # REPAIRED
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def predict(loader):
    model.eval()
    truth, pred = [], []
    with torch.no_grad():
        for xb, yb in loader:
            pred.append((torch.sigmoid(model(xb)[:, 0]) > 0.5).long())
            truth.append(yb.long())
    return torch.cat(truth).numpy(), torch.cat(pred).numpy()


for epoch in range(10):
    model.train()
    epoch_loss = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = loss_fn(model(xb)[:, 0], yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    truth, pred = predict(test_dl)
    print(
        f"epoch {epoch + 1}: loss {epoch_loss / len(train_dl):.4f} accuracy {(truth == pred).mean():.4f} "
        f"balanced accuracy {balanced_accuracy_score(truth, pred):.3f}"
    )

print("confusion matrix (rows: truth)")
print(confusion_matrix(truth, pred))
