"""Six crop types from twenty spectral band statistics, with a small MLP and AdamW."""
# fault: lr_too_high

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
np.random.seed(7)

BATCH_SIZE = 128
EPOCHS = 9
LEARNING_RATE = 3.0  # FAULT
LEARNING_RATE = 2e-3  # REPAIRED

X, y = make_classification(
    n_samples=9000, n_features=20, n_informative=12, n_redundant=4, n_classes=6, class_sep=1.6, random_state=7
)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=7, stratify=y)
scaler = StandardScaler().fit(X_train)
X_train = torch.tensor(scaler.transform(X_train), dtype=torch.float32)
X_val = torch.tensor(scaler.transform(X_val), dtype=torch.float32)
y_train, y_val = torch.tensor(y_train), torch.tensor(y_val)

train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=BATCH_SIZE, shuffle=True)
val_loader = DataLoader(TensorDataset(X_val, y_val), batch_size=256)


class CropNet(nn.Module):
    def __init__(self, in_features, n_classes):
        super().__init__()
        self.fc1 = nn.Linear(in_features, 160)
        self.fc2 = nn.Linear(160, 160)
        self.head = nn.Linear(160, n_classes)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = self.drop(torch.relu(self.fc2(x)))
        return self.head(x)


model = CropNet(20, 6)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)

for epoch in range(EPOCHS):
    model.train()
    running = 0.0
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        running += loss.item() * inputs.size(0)

    model.eval()
    correct = 0
    val_loss = 0.0
    with torch.no_grad():
        for inputs, targets in val_loader:
            logits = model(inputs)
            val_loss += criterion(logits, targets).item() * inputs.size(0)
            correct += (logits.argmax(1) == targets).sum().item()
    print(
        f"Epoch {epoch + 1:2d}/{EPOCHS}  train loss {running / len(X_train):.4f}  "
        f"val loss {val_loss / len(X_val):.4f}  val acc {correct / len(X_val):.3f}"
    )
