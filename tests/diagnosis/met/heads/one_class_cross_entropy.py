"""A binary question with CrossEntropyLoss and a head of a single class."""
# fault: softmax_of_one

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
x = torch.randn(1000, 1, 12, 12)
bright = torch.rand(1000) < 0.5
x[bright, :, 3:8, 3:8] += 0.8
y = bright.float()


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)
        self.fc = nn.Linear(16 * 16, classes)

    def forward(self, t):
        t = F.max_pool2d(F.relu(self.conv1(t)), 2)
        t = F.relu(self.conv2(t))
        return self.fc(
            t[:, :, :4, :4].reshape(len(t), -1) if t.shape[-1] >= 4 else F.adaptive_avg_pool2d(t, 4).flatten(1)
        )


net = Net(1)  # FAULT
net = Net(2)  # REPAIRED
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for epoch in range(8):
    for i in torch.randperm(800).split(40):
        out = net(x[i])
        loss = F.cross_entropy(out, y[i].unsqueeze(1))  # FAULT
        loss = F.cross_entropy(out, y[i].long())  # REPAIRED
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
