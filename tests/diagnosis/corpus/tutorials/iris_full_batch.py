"""Iris flowers with a small network; the data set is so small that every step sees all of it."""

import torch
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(1)

iris = load_iris()
X_train, X_test, y_train, y_test = train_test_split(
    iris.data, iris.target, test_size=0.2, random_state=1, stratify=iris.target
)
mean, std = X_train.mean(axis=0), X_train.std(axis=0)
X_train = torch.FloatTensor((X_train - mean) / std)
X_test = torch.FloatTensor((X_test - mean) / std)
y_train, y_test = torch.LongTensor(y_train), torch.LongTensor(y_test)

model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def accuracy(x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(dim=1) == y).float().mean().item()


losses = []
for i in range(150):
    model.train()
    y_pred = model(X_train)
    loss = criterion(y_pred, y_train)
    losses.append(loss.detach().item())
    if i % 15 == 0:
        print(f"Epoch: {i} Loss: {loss.item():.4f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"Accuracy on the training data: {accuracy(X_train, y_train):.3f}")
print(f"Accuracy on the test data:     {accuracy(X_test, y_test):.3f}")

names = iris.target_names
with torch.no_grad():
    for row, truth in zip(X_test[:5], y_test[:5]):
        guess = model(row).argmax().item()
        print(f"predicted {names[guess]:<12} true {names[truth.item()]}")
