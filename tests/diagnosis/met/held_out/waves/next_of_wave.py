"""Forecast the next value of a noisy wave with a GRU."""

# fault: target_broadcast
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(11)


class Windows(Dataset):
    def __init__(self, series, width):
        self.series, self.width = series, width

    def __len__(self):
        return len(self.series) - self.width

    def __getitem__(self, i):
        window = self.series[i : i + self.width].unsqueeze(-1)
        return window, self.series[i + self.width]


t = torch.arange(0, 700).float()
wave = torch.sin(t / 7) + 0.5 * torch.sin(t / 3.1) + 0.05 * torch.randn(700)
train, test = Windows(wave[:550], 20), Windows(wave[550:], 20)
batches = DataLoader(train, batch_size=32, shuffle=True)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 24, batch_first=True)
        self.readout = nn.Linear(24, 1)

    def forward(self, x):
        states, _ = self.gru(x)
        return self.readout(states[:, -1])


net = Forecaster()
optim = torch.optim.Adam(net.parameters(), lr=5e-3)
mse = nn.MSELoss()
for epoch in range(15):
    losses = []
    for x, y in batches:
        prediction = net(x)
        loss = mse(prediction, y)  # FAULT
        loss = mse(prediction.squeeze(1), y)  # REPAIRED
        optim.zero_grad()
        loss.backward()
        optim.step()
        losses.append(loss.item())
    with torch.no_grad():
        errors = [(net(x[None]).item() - y.item()) ** 2 for x, y in test]
    print(f"epoch {epoch} train {sum(losses) / len(losses):.4f} test mse {sum(errors) / len(errors):.4f}")
