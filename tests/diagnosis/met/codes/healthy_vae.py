"""The VAE example: binary cross-entropy and divergence, both summed."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)
data = torch.tensor(load_digits().data, dtype=torch.float32) / 16


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(64, 100), nn.Linear(100, 8), nn.Linear(100, 8)
        self.fc3, self.fc4 = nn.Linear(8, 100), nn.Linear(100, 64)

    def forward(self, x):
        h1 = F.relu(self.fc1(x))
        mu, logvar = self.fc21(h1), self.fc22(h1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    train_loss = 0
    for i in torch.randperm(len(data)).split(64):
        optimizer.zero_grad()
        recon, mu, logvar = model(data[i])
        bce = F.binary_cross_entropy(recon, data[i], reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = bce + kld
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print(epoch, train_loss / len(data))
