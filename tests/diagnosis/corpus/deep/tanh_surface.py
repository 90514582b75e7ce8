"""Regression of a smooth surface over four inputs with a tanh network."""
# fault: saturated_init

import numpy as np
import torch
from torch import nn


def target(x):
    return torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] - 0.5 * x[:, 3] ** 2


class Surface(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 100)
        self.fc2 = nn.Linear(100, 100)
        self.fc3 = nn.Linear(100, 100)
        self.out = nn.Linear(100, 1)
        for layer in (self.fc1, self.fc2, self.fc3):
            nn.init.normal_(layer.weight, 0.0, 2.0)  # FAULT
            nn.init.xavier_normal_(layer.weight)  # REPAIRED
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        x = torch.tanh(self.fc3(x))
        return self.out(x).squeeze(-1)


def main():
    torch.manual_seed(17)
    x = 2 * torch.rand(3000, 4) - 1
    x = x * np.sqrt(3)  # unit variance
    y = target(x)
    y = (y - y.mean()) / y.std() + 0.05 * torch.randn(len(y))
    x_train, y_train, x_test, y_test = x[:2400], y[:2400], x[2400:], y[2400:]

    net = Surface()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for it in range(600):
        idx = torch.randint(0, len(x_train), (64,))
        loss = ((net(x_train[idx]) - y_train[idx]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 100 == 0:
            print(it, round(loss.item(), 4))
    with torch.no_grad():
        mse = ((net(x_test) - y_test) ** 2).mean().item()
    print("test mse %.4f (variance of y: %.3f)" % (mse, y_test.var().item()))


main()
