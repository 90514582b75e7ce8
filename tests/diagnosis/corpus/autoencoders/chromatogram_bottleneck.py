"""Plain autoencoder that squeezes chromatograms of 64 points through 6 numbers."""
# fault: missing_zero_grad

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(55)


def chromatograms(n):
    t = torch.linspace(0, 1, 64)
    centre = torch.tensor([0.25, 0.5, 0.75]) + 0.05 * (torch.rand(n, 3) - 0.5)
    height = torch.rand(n, 3) + 0.2
    peaks = height[:, :, None] * torch.exp(-((t - centre[:, :, None]) ** 2) / 0.006)
    return peaks.sum(1) + 0.02 * torch.randn(n, 64)


train_x, test_x = chromatograms(3000), chromatograms(500)
mu, sigma = train_x.mean(), train_x.std()
train_x, test_x = (train_x - mu) / sigma, (test_x - mu) / sigma
loader = DataLoader(TensorDataset(train_x), batch_size=60, shuffle=True, drop_last=True)


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 40), nn.Tanh(), nn.Linear(40, 6))
        self.dec = nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 64))

    def forward(self, x):
        code = self.enc(x)
        return self.dec(code), code


ae = AE()
optim = torch.optim.Adam(ae.parameters(), lr=3e-3)
criterion = nn.MSELoss()
n_epochs = 12
for epoch in range(n_epochs):
    ae.train()
    train_loss = 0
    for (x,) in loader:
        optim.zero_grad()  # REPAIRED
        x_hat, _ = ae(x)
        loss = criterion(x_hat, x)
        loss.backward()
        optim.step()
        train_loss += loss.item()
    ae.eval()
    with torch.no_grad():
        test_loss = criterion(ae(test_x)[0], test_x).item()
    print("Epoch: {}/{}  train: {:.4f}  test: {:.4f}".format(epoch + 1, n_epochs, train_loss / len(loader), test_loss))
