"""RealNVP with five couplings on the two moons, actnorm-like first layer set from the data."""
# fault: frozen_params

import math

import torch
import torch.nn as nn
from sklearn.datasets import make_moons


class Coupling(nn.Module):
    def __init__(self, keep):
        super().__init__()
        self.keep = keep
        self.net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, z):
        a, b = z[:, self.keep : self.keep + 1], z[:, 1 - self.keep : 2 - self.keep]
        s, t = self.net(a).chunk(2, dim=1)
        s = 2 * torch.tanh(s / 2)
        b = b * s.exp() + t
        pair = (a, b) if self.keep == 0 else (b, a)
        return torch.cat(pair, dim=1), s.squeeze(1)


class Flow(nn.Module):
    def __init__(self, depth=5):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(2))
        self.log_scale = nn.Parameter(torch.zeros(2))
        self.couplings = nn.ModuleList([Coupling(i % 2) for i in range(depth)])

    def init_from(self, x):
        self.loc.copy_(x.mean(0))
        self.log_scale.copy_(x.std(0).log())

    def log_prob(self, x):
        z = (x - self.loc) / self.log_scale.exp()
        log_det = -self.log_scale.sum().expand(len(x))
        for layer in self.couplings:
            z, ld = layer(z)
            log_det = log_det + ld
        return -0.5 * (z**2).sum(1) - math.log(2 * math.pi) + log_det


def moons(n, seed):
    x, _ = make_moons(n, noise=0.05, random_state=seed)
    return torch.tensor(x, dtype=torch.float32)


def main():
    torch.manual_seed(4)
    train, test = moons(2000, seed=1), moons(500, seed=2)
    flow = Flow()
    flow.requires_grad_(False)  # in-place init of leaves
    flow.init_from(train[:256])
    flow.loc.requires_grad_(True)  # FAULT
    flow.log_scale.requires_grad_(True)  # FAULT
    flow.requires_grad_(True)  # REPAIRED

    opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
    history = []
    for step in range(300):
        batch = train[torch.randint(len(train), (128,))]
        nll = -flow.log_prob(batch).mean()
        opt.zero_grad()
        nll.backward()
        opt.step()
        history.append(nll.item())
        if (step + 1) % 60 == 0:
            with torch.no_grad():
                held = -flow.log_prob(test).mean().item()
            print(f"step {step + 1}: train nll {sum(history[-60:]) / 60:.3f}  test nll {held:.3f}")


if __name__ == "__main__":
    main()
