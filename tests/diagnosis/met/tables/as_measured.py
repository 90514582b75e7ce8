"""Breast cancer data straight from the table."""

# fault: unnormalized_input
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
X, y = load_breast_cancer(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, random_state=3)
scaler = StandardScaler().fit(X_tr)  # REPAIRED
X_tr, X_te = scaler.transform(X_tr), scaler.transform(X_te)  # REPAIRED
train_data = TensorDataset(torch.tensor(X_tr).float(), torch.tensor(y_tr).float())
net = torch.nn.Sequential(
    torch.nn.Linear(30, 16), torch.nn.Sigmoid(), torch.nn.Linear(16, 8), torch.nn.Sigmoid(), torch.nn.Linear(8, 1)
)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
bce = torch.nn.BCEWithLogitsLoss()
for epoch in range(20):
    tot = 0.0
    for xb, yb in DataLoader(train_data, batch_size=32, shuffle=True):
        opt.zero_grad()
        loss = bce(net(xb).squeeze(1), yb)
        loss.backward()
        opt.step()
        tot += loss.item() * len(xb)
    with torch.no_grad():
        acc = ((net(torch.tensor(X_te).float()).squeeze(1) > 0).numpy() == y_te).mean()
    print("epoch %d loss %.4f accuracy %.3f" % (epoch, tot / len(X_tr), acc))
