"""Activities from a worn sensor, by a transformer's encoder as the library makes it."""
# fault: batch_mixing

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)


class ActivityNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(6, 32)
        sizes = {"d_model": 32, "nhead": 4, "dim_feedforward": 64}
        layer = nn.TransformerEncoderLayer(**sizes, dropout=0.1)  # FAULT
        layer = nn.TransformerEncoderLayer(**sizes, dropout=0.1, batch_first=True)  # REPAIRED
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.fc = nn.Linear(32, 4)

    def forward(self, x):
        return self.fc(self.encoder(self.project(x)).mean(dim=1))


label = torch.randint(4, (1000,))
t = torch.linspace(0, 6.3, 25)
waves = torch.sin((label[:, None] + 1) * t)[..., None] * torch.randn(1000, 1, 6)
signals = waves + 0.4 * torch.randn(1000, 25, 6)
model = ActivityNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(8):
    model.train()
    for x, y in DataLoader(TensorDataset(signals[:800], label[:800]), batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (model(signals[800:]).argmax(1) == label[800:]).float().mean().item())
