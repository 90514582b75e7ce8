"""Textures: one batch norm is made and used after each of three convolutions, since they are as wide."""
# fault: train_eval_gap

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv3 = nn.Conv2d(16, 16, 3, padding=1)
        self.bn = nn.BatchNorm2d(16)  # FAULT
        self.bn1, self.bn2, self.bn3 = (nn.BatchNorm2d(16) for _ in range(3))  # REPAIRED
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        x = F.relu(self.bn(self.conv1(x * 5)))  # FAULT
        x = F.relu(self.bn(self.conv2(x)))  # FAULT
        x = F.relu(self.bn(self.conv3(x)))  # FAULT
        x = F.relu(self.bn1(self.conv1(x * 5)))  # REPAIRED
        x = F.relu(self.bn2(self.conv2(x)))  # REPAIRED
        x = F.relu(self.bn3(self.conv3(x)))  # REPAIRED
        return self.fc(x.mean((2, 3)))


torch.manual_seed(5)
a = torch.linspace(0, 12.6, 16)
across, down = a.sin()[None] * torch.ones(16, 1), a.sin()[:, None] * torch.ones(1, 16)
kinds = torch.stack([across, down, across * down, (a[:, None] + a).sin()])
label = torch.randint(4, (900,))
pictures = (kinds[label] + 0.8 * torch.randn(900, 16, 16))[:, None] + 1.0
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    model.train()
    for i in torch.randperm(720).split(40):
        loss = F.cross_entropy(model(pictures[i]), label[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        out = model(pictures[720:])
        right = (out.argmax(1) == label[720:]).float().mean().item()
        print(epoch, "train", loss.item(), "val", F.cross_entropy(out, label[720:]).item(), right)
