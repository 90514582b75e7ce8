"""Daily units sold per shop and product as Poisson counts: embeddings plus calendar and price features."""
# fault: dropout_too_strong

import numpy as np
import torch
from torch import nn

SHOPS, PRODUCTS = 8, 12


def simulate(rng, n):
    shop = rng.integers(0, SHOPS, n)
    product = rng.integers(0, PRODUCTS, n)
    weekday = rng.integers(0, 7, n)
    price = rng.normal(0, 1, n)
    promo = (rng.random(n) < 0.2).astype(float)
    size = np.linspace(-0.6, 0.6, SHOPS)
    taste = 0.8 * np.sin(np.arange(PRODUCTS) * 2.1)
    rate = np.exp(1.6 + size[shop] + taste[product] + 0.5 * (weekday >= 5) - 0.35 * price + 0.7 * promo)
    units = rng.poisson(rate)
    features = np.column_stack([price, promo - 0.2, np.eye(7)[weekday]])
    ids = np.column_stack([shop, product])
    return torch.tensor(ids), torch.tensor(features, dtype=torch.float32), torch.tensor(units, dtype=torch.float32)


class DemandModel(nn.Module):
    def __init__(self, p_drop):
        super().__init__()
        self.shop = nn.Embedding(SHOPS, 5)
        self.product = nn.Embedding(PRODUCTS, 5)
        self.fc1 = nn.Linear(10 + 9, 64)
        self.fc2 = nn.Linear(64, 64)
        self.head = nn.Linear(64, 1)
        self.drop = nn.Dropout(p_drop)

    def forward(self, ids, features):
        x = torch.cat([self.shop(ids[:, 0]), self.product(ids[:, 1]), features], dim=1)
        x = self.drop(torch.relu(self.fc1(x)))
        x = self.drop(torch.relu(self.fc2(x)))
        return self.head(x)[:, 0]  # log of the expected count


def poisson_deviance(log_rate, units):
    saturated = torch.where(units > 0, units * torch.log(units.clamp(min=1)) - units, torch.zeros_like(units))
    return 2 * (saturated - (units * log_rate - torch.exp(log_rate))).mean()


def train():
    rng = np.random.default_rng(2024)
    torch.manual_seed(2024)
    ids, feats, units = simulate(rng, 4000)
    ids_val, feats_val, units_val = simulate(rng, 1000)
    model = DemandModel(p_drop=0.9)  # FAULT
    model = DemandModel(p_drop=0.1)  # REPAIRED
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    null = poisson_deviance(units.mean().log().expand(len(units_val)), units_val).item()
    print(f"deviance of a constant forecast: {null:.3f}")
    for epoch in range(10):
        model.train()
        total = 0.0
        for rows in torch.randperm(4000).chunk(50):
            loss = poisson_deviance(model(ids[rows], feats[rows]), units[rows])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            total += loss.item() / 50
        model.eval()
        with torch.no_grad():
            val = poisson_deviance(model(ids_val, feats_val), units_val).item()
        print(f"epoch {epoch + 1}: train deviance {total:.3f}, validation deviance {val:.3f}")


if __name__ == "__main__":
    train()
