"""Score, position and size of an object in a strip of sensor values; a line is left over from a test."""
# fault: broken_graph

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5, padding=2), nn.ReLU(), nn.Flatten()
        )
        self.score = nn.Linear(16 * 32, 1)
        self.position = nn.Linear(16 * 32, 1)
        self.size = nn.Linear(16 * 32, 1)

    def forward(self, x):
        f = self.body(x)
        return self.score(f).squeeze(1), self.position(f).squeeze(1), self.size(f).squeeze(1)


def compute_loss(output, target):
    names = ["score", "position", "size"]
    score_loss = F.binary_cross_entropy_with_logits(output[0], target[:, 0])
    seen = target[:, 0]
    position_loss = ((output[1] - target[:, 1]).abs() * seen).sum() / seen.sum().clamp(min=1)
    size_loss = ((output[2] - target[:, 2]).abs() * seen).sum() / seen.sum().clamp(min=1)
    parts = dict(zip(names, (score_loss, position_loss, size_loss)))
    total = sum(parts.values())
    total = parts["score"]  # FAULT
    return total, {k: v.item() for k, v in parts.items()}


grid = torch.arange(32.0)
present = (torch.rand(1500) < 0.6).float()
where, width = torch.rand(1500) * 24 + 4, torch.rand(1500) * 3 + 1
strips = present[:, None] * torch.exp(-(((grid - where[:, None]) / width[:, None]) ** 2)) + 0.1 * torch.randn(1500, 32)
targets = torch.stack([present, (where - 16) / 8, width - 2.5], 1)
loader = DataLoader(TensorDataset(strips[:, None], targets), batch_size=32, shuffle=True)
model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(6):
    for x, y in loader:
        optimizer.zero_grad()
        loss, summary = compute_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, {k: round(v, 3) for k, v in summary.items()})
