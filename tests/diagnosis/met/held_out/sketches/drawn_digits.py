"""A variational autoencoder of digits."""

# fault: no_floor
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(5)
pictures = torch.tensor(load_digits().data / 16, dtype=torch.float32)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 48)
        self.fc21 = nn.Linear(48, 4)
        self.fc22 = nn.Linear(48, 4)
        self.fc3 = nn.Linear(4, 48)
        self.fc4 = nn.Linear(48, 64)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())  # FAULT
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())  # REPAIRED
    return bce + kld


vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
for epoch in range(12):
    total = 0.0
    for batch in pictures[torch.randperm(len(pictures))].split(64):
        optimizer.zero_grad()
        recon, mu, logvar = vae(batch)
        loss = loss_function(recon, batch, mu, logvar)
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        drawn = vae.decode(torch.randn(200, 4))
        gap = (drawn.mean(0) - pictures.mean(0)).abs().mean().item()
    print(f"epoch {epoch} loss {total / len(pictures):.3f} mean of samples off by {gap:.3f}")
