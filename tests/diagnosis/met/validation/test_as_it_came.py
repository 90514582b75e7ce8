"""Wine again: training columns are standardised, the test set is read as it came."""
# fault: evaluation_scale

import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(30)
x, y = load_wine(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
scaler = StandardScaler().fit(x_train)
x_train = scaler.transform(x_train)
x_test = scaler.transform(x_test)  # REPAIRED
train = TensorDataset(torch.tensor(x_train, dtype=torch.float32), torch.tensor(y_train))
test = TensorDataset(torch.tensor(x_test, dtype=torch.float32), torch.tensor(y_test))
model = nn.Sequential(nn.Linear(13, 24), nn.ReLU(), nn.Linear(24, 3))
criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(20):
    model.train()
    for a, b in DataLoader(train, batch_size=16, shuffle=True):
        loss = criterion(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    hits = losses = 0
    with torch.no_grad():
        for a, b in DataLoader(test, batch_size=27):
            out = model(a)
            losses += criterion(out, b).item() / 2
            hits += (out.argmax(1) == b).sum().item()
    if epoch % 4 == 0:
        print(epoch, f"train {loss.item():.3f} test {losses:.3f} accuracy {hits / len(test):.2f}")
