"""Sixty steps to see that everything fits together: a residual net that is far from done."""

import torch
import torch.nn as nn

torch.manual_seed(1)


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv2d(c, c, 3, padding=1),
            nn.BatchNorm2d(c),
            nn.ReLU(),
            nn.Conv2d(c, c, 3, padding=1),
            nn.BatchNorm2d(c),
        )

    def forward(self, x):
        return torch.relu(x + self.f(x))


x, y = torch.randn(512, 3, 12, 12), torch.randint(0, 20, (512,))
x += 0.3 * torch.randn(20, 3, 12, 12)[y]
net = nn.Sequential(
    nn.Conv2d(3, 12, 3, padding=1),
    nn.BatchNorm2d(12),
    nn.ReLU(),
    Residual(12),
    nn.AdaptiveAvgPool2d(3),
    nn.Flatten(),
    nn.Linear(108, 20),
)
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
for step in range(60):
    i = torch.randint(512, (32,))
    loss = nn.functional.cross_entropy(net(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
