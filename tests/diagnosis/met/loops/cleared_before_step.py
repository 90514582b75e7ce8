"""Concrete: how strong after 28 days? The loop was typed from memory."""
# fault: step_before_backward

import torch
import torch.nn as nn

torch.manual_seed(0)
mix = torch.rand(800, 8)
effects = torch.tensor([2.0, 1.0, -1.0, 0.5, 3.0, -2.0, 1.0, 0.2])
strength = (mix @ effects)[:, None] + mix[:, :1] * mix[:, 4:5] - 2
dataset = torch.utils.data.TensorDataset(mix, strength + 0.05 * torch.randn(800, 1))
loader = torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True)
regressor = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(regressor.parameters(), lr=0.001)


def train_one_epoch():
    running = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()  # REPAIRED
        outputs = regressor(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.zero_grad()  # FAULT
        optimizer.step()
        running += loss.item()
    return running / len(loader)


for epoch in range(12):
    print(f"EPOCH {epoch + 1} train loss {train_one_epoch():.4f}")
