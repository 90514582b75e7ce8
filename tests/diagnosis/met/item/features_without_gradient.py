"""An encoder and a classifier are to be trained together; the encoder's features are made as for inference."""
# fault: broken_graph

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(24)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.classifier = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

    @torch.no_grad()  # FAULT
    def features(self, x):
        return self.encoder(x)

    def forward(self, x):
        return self.classifier(self.features(x))


raw = load_digits()
x, y = torch.tensor(raw.images / 16, dtype=torch.float32)[:, None], torch.tensor(raw.target)
model = Recogniser()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    for i in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(model(x[i]), y[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
