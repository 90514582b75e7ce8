"""Two answers from one trunk: a class and a number."""

# fault: broken_graph
import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16).float(), torch.tensor(y)
ink = (X.sum(1, keepdim=True) - X.sum(1).mean()) / X.sum(1).std()


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(64, 48), nn.ReLU())
        self.classes, self.number = nn.Linear(48, 10), nn.Linear(48, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.classes(h), self.number(h)


net = Two()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(8):
    for i in torch.randperm(1400).split(50):
        scores, amount = net(X[i])
        loss_a = nn.functional.cross_entropy(scores, y[i])
        loss_b = nn.functional.mse_loss(amount, ink[i])
        loss = loss_a  # FAULT
        loss = loss_a + loss_b  # REPAIRED
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        scores, amount = net(X[1400:])
    print(
        epoch, (scores.argmax(1) == y[1400:]).float().mean().item(), nn.functional.mse_loss(amount, ink[1400:]).item()
    )
