"""Iris-like flowers with NLLLoss; the loss becomes better and better, below zero."""
# fault: scores_in_nll_loss

import torch
import torch.nn as nn
from sklearn.datasets import load_iris

torch.manual_seed(17)
iris = load_iris()
x = torch.tensor(iris.data, dtype=torch.float32)
x = (x - x.mean(0)) / x.std(0)
y = torch.tensor(iris.target)


class Flower(nn.Module):
    def __init__(self):
        super(Flower, self).__init__()
        self.hidden = nn.Linear(4, 16)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        return self.out(x)  # FAULT
        return torch.log_softmax(self.out(x), dim=1)  # REPAIRED


net = Flower()
loss_function = nn.NLLLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(30):
    for i in torch.randperm(150).split(10):
        net.zero_grad()
        loss = loss_function(net(x[i]), y[i])
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
