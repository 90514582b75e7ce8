"""Classify short signals: an encoder makes features, a head sorts them."""

# fault: broken_graph
import math

import torch
import torch.nn as nn

torch.manual_seed(13)


def signals(n):
    kind = torch.randint(0, 3, (n,))
    time = torch.linspace(0, 1, 64)
    frequency = torch.tensor([3.0, 5.0, 7.0])[kind].unsqueeze(1)
    phase = torch.rand(n, 1) * 2 * math.pi
    return (torch.sin(2 * math.pi * frequency * time + phase) + 0.8 * torch.randn(n, 64)).unsqueeze(1), kind


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 8, 9, stride=2)
        self.conv2 = nn.Conv1d(8, 6, 9, stride=2)

    def forward(self, s):
        h = torch.relu(self.conv1(s))
        return torch.relu(self.conv2(h)).mean(-1)


encoder, head = Encoder(), nn.Linear(6, 3)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=5e-3)
criterion = nn.CrossEntropyLoss()
test_x, test_y = signals(300)
train_x, train_y = signals(800)
for epoch in range(15):
    for rows in torch.randperm(800).split(40):
        features = encoder(train_x[rows]).data  # FAULT
        features = encoder(train_x[rows])  # REPAIRED
        loss = criterion(head(features), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = (head(encoder(test_x)).argmax(1) == test_y).float().mean().item()
    print(f"{epoch} {loss.item():.3f} accuracy {accuracy:.3f}")
