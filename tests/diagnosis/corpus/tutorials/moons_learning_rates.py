"""Which learning rate is best for the two moons? Try three and plot (print) the curves."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons

x, y = make_moons(n_samples=1200, noise=0.12, random_state=5)
x = torch.tensor(x, dtype=torch.float32)
y = torch.tensor(y, dtype=torch.float32).view(-1, 1)
x = (x - x[:900].mean(0)) / x[:900].std(0)
x_train, y_train, x_test, y_test = x[:900], y[:900], x[900:], y[900:]


class MoonNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 20)
        self.b = nn.Linear(20, 20)
        self.c = nn.Linear(20, 1)

    def forward(self, z):
        return self.c(F.leaky_relu(self.b(F.leaky_relu(self.a(z)))))


def train_with(lr, epochs=15, batch_size=30):
    torch.manual_seed(5)
    net = MoonNet()
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, nesterov=True)
    curve = []
    for _ in range(epochs):
        net.train()
        total = 0.0
        perm = torch.randperm(len(x_train))
        for start in range(0, len(perm), batch_size):
            pick = perm[start : start + batch_size]
            loss = F.binary_cross_entropy_with_logits(net(x_train[pick]), y_train[pick])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        curve.append(total / (len(perm) / batch_size))
    net.eval()
    with torch.no_grad():
        acc = ((net(x_test) > 0).float() == y_test).float().mean().item()
    return curve, acc


results = {}
for lr in [0.03, 0.06, 0.1]:
    curve, acc = train_with(lr)
    results[lr] = acc
    print(f"lr={lr:<5}", " ".join(f"{v:.3f}" for v in curve[::3]), f"-> test accuracy {acc:.3f}")

best = max(results, key=results.get)
print(f"best learning rate: {best} ({results[best]:.3f})")
