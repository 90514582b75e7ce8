"""One small network per input channel, joined by a linear layer."""

# fault: unregistered_params
import torch
from torch import nn

torch.manual_seed(18)
CHANNELS = 4
data = torch.randn(1000, CHANNELS, 6)
answer = torch.stack([(data[:, c] ** 2).sum(1) * (-1) ** c for c in range(CHANNELS)], 1).sum(1, keepdim=True) / 6


class PerChannel(nn.Module):
    def __init__(self):
        super().__init__()
        branches = [nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2)) for _ in range(CHANNELS)]
        self.branches = branches  # FAULT
        self.branches = nn.ModuleList(branches)  # REPAIRED
        self.join = nn.Linear(2 * CHANNELS, 1)

    def forward(self, x):
        parts = [branch(x[:, c]) for c, branch in enumerate(self.branches)]
        return self.join(torch.cat(parts, dim=1))


model = PerChannel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.MSELoss()
for epoch in range(15):
    for i in torch.randperm(800).split(40):
        optimizer.zero_grad()
        loss = loss_fn(model(data[i]), answer[i])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, "train", loss.item(), "test", loss_fn(model(data[800:]), answer[800:]).item())
