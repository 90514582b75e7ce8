"""Customer churn style binary classification on tabular data, about 30 % positives."""
# fault: sigmoid_before_bce_logits

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, Dataset

RANDOM_STATE = 314
np.random.seed(RANDOM_STATE)
torch.manual_seed(RANDOM_STATE)


class ChurnData(Dataset):
    def __init__(self, X, y):
        self.X = torch.FloatTensor(X)
        self.y = torch.FloatTensor(y)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


class ChurnNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.layer_1 = nn.Linear(n_features, 64)
        self.layer_2 = nn.Linear(64, 32)
        self.layer_out = nn.Linear(32, 1)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(p=0.1)
        self.sigmoid = nn.Sigmoid()

    def forward(self, inputs):
        x = self.relu(self.layer_1(inputs))
        x = self.dropout(self.relu(self.layer_2(x)))
        return self.sigmoid(self.layer_out(x)).squeeze(1)


X, y = make_classification(
    3000, 20, n_informative=8, n_redundant=4, weights=[0.7], class_sep=1.6, flip_y=0.01, random_state=RANDOM_STATE
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=RANDOM_STATE)
sc = StandardScaler()
X_train, X_test = sc.fit_transform(X_train), sc.transform(X_test)
train_loader = DataLoader(ChurnData(X_train, y_train), batch_size=64, shuffle=True)
test_set = ChurnData(X_test, y_test)

model = ChurnNet(X.shape[1])
criterion = nn.BCEWithLogitsLoss()  # FAULT
criterion = nn.BCELoss()  # REPAIRED
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

for e in range(1, 16):
    model.train()
    epoch_loss, epoch_acc = 0, 0
    for X_batch, y_batch in train_loader:
        optimizer.zero_grad()
        y_pred = model(X_batch)
        loss = criterion(y_pred, y_batch)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
        epoch_acc += ((y_pred > 0.5) == y_batch).float().mean().item()
    print(f"Epoch {e:03}: | Loss: {epoch_loss / len(train_loader):.5f} | Acc: {epoch_acc / len(train_loader):.3f}")

model.eval()
with torch.no_grad():
    prob = model(test_set.X)
    log_loss = nn.functional.binary_cross_entropy(prob, test_set.y).item()
print(f"test AUC {roc_auc_score(y_test, prob.numpy()):.3f}, log loss of the probabilities {log_loss:.3f}")
