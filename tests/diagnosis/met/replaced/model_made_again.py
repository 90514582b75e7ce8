"""For a second try the model is made anew; the optimiser is that of the first."""
# fault: optimizer_missing_params

import torch
import torch.nn as nn

torch.manual_seed(11)
X = torch.randn(1000, 7)
y = (X[:, 0] - X[:, 1] * X[:, 2] > 0).long()


def build(width):
    return nn.Sequential(nn.Linear(7, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))


model = build(32)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
print(sum(p.numel() for p in model.parameters()), "parameters: a wider one")
model = build(64)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)  # REPAIRED
criterion = nn.CrossEntropyLoss()
for epoch in range(12):
    for i in torch.randperm(800).split(40):
        loss = criterion(model(X[i]), y[i])
        model.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
