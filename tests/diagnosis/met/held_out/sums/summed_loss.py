"""Pictures of bars are squeezed and opened again; the loss is a sum over all pixels of the batch."""
# fault: lr_too_high

import torch
import torch.nn as nn

torch.manual_seed(18)
rows = torch.randint(10, (1000,))
pictures = torch.rand(1000, 10, 10) * 0.2
pictures[torch.arange(1000), rows] += 0.8
pictures = pictures.flatten(1)
model = nn.Sequential(nn.Linear(100, 32), nn.ReLU(), nn.Linear(32, 100))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(8):
    for i in torch.randperm(1000).split(100):
        loss = nn.functional.mse_loss(model(pictures[i]), pictures[i], reduction="sum")  # FAULT
        loss = nn.functional.mse_loss(model(pictures[i]), pictures[i])  # REPAIRED
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
