"""Wine by its measurements; the update slipped out of the inner loop."""
# fault: batches_unused

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
centre = torch.randn(5, 12) * 0.8
kind = torch.randint(5, (2000,))
data = centre[kind] + torch.randn(2000, 12)
loader = DataLoader(TensorDataset(data[:1600], kind[:1600]), batch_size=32, shuffle=True)

model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 5))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(40):
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        running += loss.item()
        loss.backward()  # REPAIRED
        optimizer.step()  # REPAIRED
    loss.backward()  # FAULT
    optimizer.step()  # FAULT
    if epoch % 5 == 0:
        with torch.no_grad():
            accuracy = (model(data[1600:]).argmax(1) == kind[1600:]).float().mean().item()
        print(epoch, running / len(loader), accuracy)
