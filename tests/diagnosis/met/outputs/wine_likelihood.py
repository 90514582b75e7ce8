"""Iris with a three-class output and negative log likelihood."""

# fault: wrong_softmax_dim
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

torch.manual_seed(2)
X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(scale(X), y, test_size=0.3, random_state=8, stratify=y)
X_train, X_test = map(lambda m: torch.tensor(m, dtype=torch.float32), (X_train, X_test))
y_train, y_test = map(torch.tensor, (y_train, y_test))


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(13, 20)
        self.fc2 = nn.Linear(20, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return F.log_softmax(x, dim=0)  # FAULT
        return F.log_softmax(x, dim=1)  # REPAIRED


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(30):
    perm = torch.randperm(len(X_train))
    for chunk in perm.split(16):
        optimizer.zero_grad()
        loss = F.nll_loss(net(X_train[chunk]), y_train[chunk])
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            acc = (net(X_test).argmax(1) == y_test).float().mean().item()
            alone = sum(net(x[None]).argmax(1).item() == t for x, t in zip(X_test, y_test.tolist())) / len(y_test)
        print(f"epoch {epoch + 1} loss {loss.item():.3f} accuracy {acc:.3f} one by one {alone:.3f}")
