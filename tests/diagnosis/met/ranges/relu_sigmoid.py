"""Will a customer come back? The last layer has an activation like all others, and then a sigmoid."""
# fault: output_range

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
X = torch.randn(1200, 8)
y = ((X[:, 0] * X[:, 1] + X[:, 2] + 0.2 * torch.randn(1200)) > 0.2).float()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 16)
        self.fc3 = nn.Linear(16, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = F.relu(self.fc3(x))  # FAULT
        x = self.fc3(x)  # REPAIRED
        return torch.sigmoid(x)


net = Net()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(12):
    right = 0
    for i in torch.randperm(1000).split(50):
        out = net(X[i]).squeeze(1)
        loss = criterion(out, y[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += ((out > 0.5) == (y[i] > 0.5)).sum().item()
    print(epoch, loss.item(), right / 1000)
with torch.no_grad():
    print("test", ((net(X[1000:]).squeeze(1) > 0.5) == (y[1000:] > 0.5)).float().mean().item())
