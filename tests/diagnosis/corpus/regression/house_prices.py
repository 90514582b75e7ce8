"""House prices from eight features with a residual MLP, Adam and the Huber loss."""
# fault: lr_too_low

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(21)


def sample_houses(n):
    area = 40 + 160 * torch.rand(n)
    rooms = (area / 28 + torch.randn(n)).clamp(1, 9).round()
    age = 80 * torch.rand(n)
    lat, lon = torch.rand(n), torch.rand(n)
    centre = ((lat - 0.4) ** 2 + (lon - 0.6) ** 2).sqrt()
    garden = (torch.rand(n) < 0.35).float()
    income = torch.exp(0.4 * torch.randn(n))
    crime = torch.rand(n)
    price = 1.9 * area * torch.exp(-1.5 * centre) + 12 * rooms + 40 * garden * centre + 30 * income.sqrt()
    price = price - 0.5 * age * (age < 50) - 35 * crime + 8 * torch.randn(n)
    return torch.stack([area, rooms, age, lat, lon, garden, income, crime], 1), price.unsqueeze(1)


X, price = sample_houses(5000)
train_ds, val_ds = random_split(range(5000), [4000, 1000])
tr, va = torch.tensor(train_ds.indices), torch.tensor(val_ds.indices)
X = (X - X[tr].mean(0)) / X[tr].std(0)
y_mean, y_std = price[tr].mean(), price[tr].std()
y = (price - y_mean) / y_std


class ResidualBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.inner = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))

    def forward(self, h):
        return h + self.inner(h)


model = nn.Sequential(nn.Linear(8, 64), ResidualBlock(64), ResidualBlock(64), nn.Linear(64, 1))
criterion = nn.HuberLoss()
optim = torch.optim.Adam(model.parameters(), lr=1e-7)  # FAULT
optim = torch.optim.Adam(model.parameters(), lr=1e-3)  # REPAIRED
loader = DataLoader(TensorDataset(X[tr], y[tr]), batch_size=64, shuffle=True)

for epoch in range(1, 11):
    model.train()
    epoch_loss = 0.0
    for features, target in loader:
        prediction = model(features)
        loss = criterion(prediction, target)
        optim.zero_grad()
        loss.backward()
        optim.step()
        epoch_loss += loss.item()
    model.eval()
    with torch.no_grad():
        val_pred = model(X[va]) * y_std + y_mean
        mae = (val_pred - price[va]).abs().mean()
    print(f"Epoch {epoch}: train loss {epoch_loss / len(loader):.4f}, validation MAE {mae:.1f} k")
