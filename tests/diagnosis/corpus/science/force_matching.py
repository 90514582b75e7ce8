"""Fit an energy surface of a two-dimensional double well to energies and forces (double precision, micro-batches)."""
# fault: unscaled_accumulation

import torch
from torch import nn

torch.set_default_dtype(torch.float64)


def double_well(q):
    x, y = q[:, 0], q[:, 1]
    energy = (x**2 - 1) ** 2 + 0.8 * y**2 + 0.4 * x * y
    fx = -(4 * x * (x**2 - 1) + 0.4 * y)
    fy = -(1.6 * y + 0.4 * x)
    return energy, torch.stack([fx, fy], dim=1)


class Surface(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, q):
        q = q.detach().requires_grad_(True)
        energy = self.net(q).squeeze(1)
        (slope,) = torch.autograd.grad(energy.sum(), q, create_graph=True)
        return energy, -slope


class ForceMatcher:
    def __init__(self, surface, lr=0.03, micro=8, accumulate=8):
        self.surface = surface
        self.micro, self.accumulate = micro, accumulate
        self.optimizer = torch.optim.SGD(surface.parameters(), lr=lr, momentum=0.9)
        self.q = 3 * torch.rand(1600, 2) - 1.5
        self.q_test = 3 * torch.rand(300, 2) - 1.5

    def loss(self, q):
        energy, force = double_well(q)
        e, f = self.surface(q)
        return ((e - energy) ** 2).mean() + 0.1 * ((f - force) ** 2).sum(1).mean()

    def epoch(self):
        self.surface.train()
        total, chunks = 0.0, torch.randperm(len(self.q)).split(self.micro)
        for i, rows in enumerate(chunks):
            loss = self.loss(self.q[rows])
            loss.backward()  # FAULT
            (loss / self.accumulate).backward()  # REPAIRED
            total += loss.item()
            if (i + 1) % self.accumulate == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
        return total / len(chunks)

    def test(self):
        self.surface.eval()
        e, f = self.surface(self.q_test)
        energy, force = double_well(self.q_test)
        return (e - energy).pow(2).mean().sqrt().item(), (f - force).pow(2).mean().sqrt().item()


def main():
    torch.manual_seed(19)
    job = ForceMatcher(Surface())
    for n in range(1, 13):
        train_loss = job.epoch()
        if n % 3 == 1 or n == 12:
            print("epoch %d: loss %.4f  energy rmse %.3f  force rmse %.3f" % (n, train_loss, *job.test()))


if __name__ == "__main__":
    main()
