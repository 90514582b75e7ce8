"""Deep sets: sum, max and soft attention over the members of a set, side by side."""

import torch
import torch.nn as nn

torch.manual_seed(0)
sets = torch.rand(800, 10, 1)
target = torch.stack([sets.sum((1, 2)), sets.amax((1, 2))], 1)


class DeepSets(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.gate = nn.Linear(32, 1)
        self.rho = nn.Sequential(nn.Linear(96, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        h = self.phi(x)
        weights = torch.softmax(self.gate(h), dim=1)
        return self.rho(torch.cat([h.sum(1) / 10, h.amax(1), (weights * h).sum(1)], -1))


model = DeepSets()
opt = torch.optim.Adam(model.parameters(), 2e-3)
for epoch in range(25):
    total = 0.0
    for i in torch.randperm(640).split(64):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(sets[i]), target[i])
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 5 == 4:
        with torch.no_grad():
            print(epoch, total / 10, nn.functional.mse_loss(model(sets[640:]), target[640:]).item())
