"""Detect bearing damage in vibration windows: 1-D ResNet-like model, accelerometer simulated, own Trainer class."""
# fault: train_in_eval_mode

import math

import torch
import torch.nn.functional as F
from torch import nn


def simulate(n, gen):
    """Four conditions: healthy, outer race, inner race, ball. Damage adds decaying ringing at a typical rate."""
    t = torch.arange(256) / 256.0
    y = torch.randint(0, 4, (n,), generator=gen)
    phase = torch.rand(n, 1, generator=gen) * 2 * math.pi
    x = torch.sin(2 * math.pi * 5 * t + phase) + 0.35 * torch.randn(n, 256, generator=gen)
    rate = torch.tensor([0.0, 7.0, 12.0, 19.0])[y][:, None]
    since_hit = torch.remainder(rate * t + torch.rand(n, 1, generator=gen), 1.0)
    ring = torch.exp(-5 * since_hit) * torch.sin(2 * math.pi * 6 * since_hit)
    x = x + 2.0 * ring * (y > 0)[:, None]
    return ((x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)).unsqueeze(1), y


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv1d(cin, cout, 9, stride=stride, padding=4, bias=False)
        self.bn1 = nn.BatchNorm1d(cout)
        self.conv2 = nn.Conv1d(cout, cout, 5, padding=2, bias=False)
        self.bn2 = nn.BatchNorm1d(cout)
        self.skip = nn.Conv1d(cin, cout, 1, stride=stride)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.skip(x))


class VibrationNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(1, 8, 2), Block(8, 16, 2), Block(16, 32, 4))
        self.out = nn.Sequential(nn.Dropout(0.2), nn.Linear(32, 4))

    def forward(self, x):
        return self.out(self.blocks(x).mean(-1))


class Trainer:
    def __init__(self, model, train_data, test_data, lr=0.03, batch=40):
        self.model, self.train_data, self.test_data, self.batch = model, train_data, test_data, batch
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)

    @torch.no_grad()
    def test(self):
        self.model.eval()
        x, y = self.test_data
        logits = self.model(x)
        return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()

    def one_epoch(self):
        self.model.train()  # REPAIRED
        x, y = self.train_data
        total = 0.0
        for idx in torch.randperm(len(x)).split(self.batch):
            loss = F.cross_entropy(self.model(x[idx]), y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item() * len(idx)
        return total / len(x)

    def fit(self, epochs):
        print("before training: test loss %.3f, accuracy %.3f" % self.test())
        for e in range(epochs):
            tr = self.one_epoch()
            print(f"[{e}] train {tr:.4f}", "test %.4f acc %.3f" % self.test())


if __name__ == "__main__":
    torch.manual_seed(21)
    g = torch.Generator().manual_seed(22)
    Trainer(VibrationNet(), simulate(1000, g), simulate(400, g)).fit(8)
