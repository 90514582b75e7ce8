"""My first neural network: telling three kinds of wine apart."""
# fault: unnormalized_input

import torch
import torch.nn as nn
from sklearn.datasets import load_wine
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler  # REPAIRED

torch.manual_seed(42)

# Step 1: get the data
wine = load_wine()
X_train, X_test, y_train, y_test = train_test_split(
    wine.data, wine.target, test_size=0.3, random_state=42, stratify=wine.target
)
scaler = StandardScaler().fit(X_train)  # REPAIRED
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)  # REPAIRED

X_train = torch.tensor(X_train, dtype=torch.float32)
X_test = torch.tensor(X_test, dtype=torch.float32)
y_train = torch.tensor(y_train)
y_test = torch.tensor(y_test)


# Step 2: define the network
class WineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(13, 24)
        self.hidden2 = nn.Linear(24, 12)
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        x = torch.tanh(self.hidden1(x))
        x = torch.tanh(self.hidden2(x))
        return self.out(x)


model = WineNet()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.8, weight_decay=1e-3)

# Step 3: train it
batch_size = 16
for epoch in range(1, 41):
    model.train()
    order = torch.randperm(len(X_train))
    running = 0.0
    for i in range(0, len(order), batch_size):
        idx = order[i : i + batch_size]
        optimizer.zero_grad()
        loss = loss_fn(model(X_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    if epoch % 5 == 0:
        print(f"Epoch {epoch:3d}/40  loss: {running / len(X_train):.4f}")

# Step 4: how good is it?
model.eval()
with torch.no_grad():
    predicted = model(X_test).argmax(dim=1)
print("Test accuracy:", accuracy_score(y_test.numpy(), predicted.numpy()))
