"""DeepONet for the operator that takes a function to its running integral; branch and trunk networks."""
# fault: lr_decayed_to_zero

import math

import torch
from torch import nn

torch.manual_seed(30)
SENSORS = 40
grid = torch.linspace(0, 1, SENSORS)


def random_functions(n):
    """Sums of four sines, with their exact integrals from 0."""
    k = torch.arange(1, 5).float()
    a = torch.randn(n, 4) / k
    phase = 2 * math.pi * torch.rand(n, 4)

    def f(x):
        return (a[:, :, None] * torch.sin(math.pi * k[:, None] * x + phase[:, :, None])).sum(1)

    def integral(x):
        inner = torch.cos(phase)[:, :, None] - torch.cos(math.pi * k[:, None] * x + phase[:, :, None])
        return 3 * (a[:, :, None] / (math.pi * k[:, None]) * inner).sum(1)

    return f(grid), integral(grid)


class DeepONet(nn.Module):
    def __init__(self, p=24):
        super().__init__()
        self.branch = nn.Sequential(nn.Linear(SENSORS, 64), nn.GELU(), nn.Linear(64, p))
        self.trunk = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, p))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, u, x):
        return self.branch(u) @ self.trunk(x[:, None]).T + self.bias


u_train, s_train = random_functions(1000)
u_test, s_test = random_functions(200)
model = DeepONet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.85)

for epoch in range(20):
    model.train()
    total = 0.0
    for rows in torch.randperm(1000).split(40):
        loss = nn.functional.mse_loss(model(u_train[rows], grid), s_train[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()  # FAULT
        total += loss.item() * len(rows) / 1000
    scheduler.step()  # REPAIRED
    if epoch % 4 == 3:
        model.eval()
        with torch.no_grad():
            rel = ((model(u_test, grid) - s_test).norm() / s_test.norm()).item()
        print(f"epoch {epoch + 1}: loss {total:.5f}, relative test error {rel:.4f}")
