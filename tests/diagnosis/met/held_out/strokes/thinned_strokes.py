"""Digits again, with dropout in the forward method."""

# fault: eval_in_train_mode
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn, optim

torch.manual_seed(0)
digits = load_digits()
xtrain, xtest, ytrain, ytest = train_test_split(digits.images[:, None] / 8 - 1, digits.target, random_state=1)
xtrain, xtest = torch.tensor(xtrain, dtype=torch.float), torch.tensor(xtest, dtype=torch.float)
ytrain, ytest = torch.tensor(ytrain), torch.tensor(ytest)


class LeNet(nn.Module):
    def __init__(self):
        super(LeNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 12, 3)
        self.fc1 = nn.Linear(12 * 16, 40)
        self.fc2 = nn.Linear(40, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.fc1(x.flatten(1)))
        x = F.dropout(x, p=0.7)  # FAULT
        x = F.dropout(x, p=0.7, training=self.training)  # REPAIRED
        return self.fc2(x)


net = LeNet()
adam = optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(6):
    net.train()
    for b in torch.randperm(len(xtrain)).split(64):
        adam.zero_grad()
        F.cross_entropy(net(xtrain[b]), ytrain[b]).backward()
        adam.step()
    net.eval()
    with torch.no_grad():
        out = net(xtest)
    print(epoch, "test loss", F.cross_entropy(out, ytest).item(), "acc", (out.argmax(1) == ytest).float().mean().item())
