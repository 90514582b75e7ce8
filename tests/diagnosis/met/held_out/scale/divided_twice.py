"""Small pictures that were already between 0 and 1 are divided by 255 once more."""
# fault: unnormalized_input

import torch
import torch.nn as nn

torch.manual_seed(8)
label = torch.randint(4, (1200,))
pictures = torch.rand(1200, 1, 12, 12) * 0.3
for k in range(1200):
    i, j = 6 * (label[k] // 2), 6 * (label[k] % 2)
    pictures[k, 0, i + 1 : i + 5, j + 1 : j + 5] += 0.4 + 0.2 * torch.rand(4, 4)
pictures = pictures / 255  # FAULT

net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(288, 32),
    nn.ReLU(),
    nn.Linear(32, 4),
)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    for i in torch.randperm(1000).split(50):
        loss = nn.functional.cross_entropy(net(pictures[i]), label[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (net(pictures[1000:]).argmax(1) == label[1000:]).float().mean().item())
