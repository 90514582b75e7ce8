"""A variational autoencoder of digits; a minus sign of the divergence was lost."""
# fault: no_floor

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(25)
data = torch.tensor(load_digits().data / 16, dtype=torch.float32)


class VAE(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.fc1 = nn.Linear(64, 100)
        self.mu, self.logvar = nn.Linear(100, latent), nn.Linear(100, latent)
        self.fc3, self.fc4 = nn.Linear(latent, 100), nn.Linear(100, 64)

    def forward(self, x):
        h = F.relu(self.fc1(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())  # FAULT
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())  # REPAIRED
    return bce + kld


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    total = 0
    for batch in data[torch.randperm(len(data))].split(64):
        optimizer.zero_grad()
        loss = loss_function(*(lambda out: (out[0], batch, out[1], out[2]))(model(batch)))
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"====> Epoch: {epoch} Average loss: {total / len(data):.4f}")
