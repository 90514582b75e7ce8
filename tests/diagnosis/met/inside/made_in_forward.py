"""Which of four shapes? The layers are written where they are used."""
# fault: unregistered_params

import torch
import torch.nn as nn

torch.manual_seed(0)
angle = torch.rand(1200) * 6.28
kind = torch.randint(4, (1200,))
points = torch.stack(
    [torch.cos(angle * (kind + 1)), torch.sin(angle * (kind + 1)), torch.cos(angle), torch.sin(angle)], 1
)
points = points + 0.05 * torch.randn(1200, 4)


class Shapes(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(64, 4)
        self.first = nn.Linear(4, 64)  # REPAIRED
        self.second = nn.Linear(64, 64)  # REPAIRED

    def forward(self, x):
        x = torch.relu(nn.Linear(4, 64)(x))  # FAULT
        x = torch.relu(nn.Linear(64, 64)(x))  # FAULT
        x = torch.relu(self.first(x))  # REPAIRED
        x = torch.relu(self.second(x))  # REPAIRED
        return self.out(x)


model = Shapes()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(15):
    for i in torch.randperm(1000).split(50):
        opt.zero_grad()
        loss = loss_fn(model(points[i]), kind[i])
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(points[1000:]).argmax(1) == kind[1000:]).float().mean().item())
