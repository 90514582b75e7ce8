"""Regress a smooth surface; gradients are clipped for safety."""

# fault: clipping_always_binds
import torch
from torch import nn

torch.manual_seed(40)
xy = torch.rand(1200, 2) * 4 - 2
surface = (torch.sin(2 * xy[:, 0]) * torch.cos(xy[:, 1]) + 0.3 * xy[:, 1]).unsqueeze(1)
CLIP = 1e-3  # FAULT
CLIP = 1.0  # REPAIRED

net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(40):
    for rows in torch.randperm(1000).split(50):
        loss = nn.functional.mse_loss(net(xy[rows]), surface[rows])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), CLIP)
        optimizer.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            test = nn.functional.mse_loss(net(xy[1000:]), surface[1000:])
        print(f"epoch {epoch + 1}: train {loss.item():.4f} test {test.item():.4f}")
