"""The head is exchanged for one with as many classes as there are here."""
# fault: optimizer_missing_params

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(2)
d = load_digits()
x, y = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16, torch.tensor(d.target)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 12, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.fc = nn.Linear(108, 100)

    def forward(self, t):
        return self.fc(self.features(t))


model = Small()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)  # FAULT
model.fc = nn.Linear(108, 10)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)  # REPAIRED
for epoch in range(4):
    for i in torch.randperm(1600).split(40):
        loss = nn.functional.cross_entropy(model(x[i]), y[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
