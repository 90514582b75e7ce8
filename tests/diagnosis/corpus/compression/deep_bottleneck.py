"""Deep autoencoder with an 8-unit bottleneck on curves mixed from random bumps, driven by a small Trainer class."""

# fault: vanishing_gradient
import torch
from torch import nn


def bumps(n, g, points=50):
    t = torch.linspace(0, 1, points)
    centre = torch.rand(n, 2, 1, generator=g)
    height = torch.rand(n, 2, 1, generator=g) * 2 - 1
    curve = (height * torch.exp(-((t - centre) ** 2) / 0.03)).sum(1)
    return curve / 0.45


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.Sigmoid()]  # FAULT
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.1)]  # REPAIRED
    return nn.Sequential(*layers[:-1])


class Autoencoder(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.squeeze = mlp(n, 96, 96, 64, 64, 8)
        self.expand = mlp(8, 64, 64, 96, 96, n)

    def forward(self, x):
        return self.expand(self.squeeze(x))


class Trainer:
    def __init__(self, model, train, valid, lr=2e-3, batch_size=64):
        self.model, self.train_data, self.valid_data = model, train, valid
        self.batch_size = batch_size
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.MSELoss()
        self.history = []

    def _epoch(self):
        self.model.train()
        for chunk in torch.randperm(len(self.train_data)).split(self.batch_size):
            x = self.train_data[chunk]
            loss = self.criterion(self.model(x), x)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.history.append(loss.item())

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        return self.criterion(self.model(self.valid_data), self.valid_data).item()

    def fit(self, epochs):
        for e in range(epochs):
            self._epoch()
            recent = self.history[-20:]
            print(f"epoch {e + 1:2d}: train mse {sum(recent) / len(recent):.4f}, valid mse {self.validate():.4f}")


if __name__ == "__main__":
    torch.manual_seed(9)
    gen = torch.Generator().manual_seed(90)
    trainer = Trainer(Autoencoder(50), bumps(2500, gen), bumps(400, gen))
    print("variance of the data:", round(trainer.valid_data.var().item(), 3))
    trainer.fit(epochs=9)
