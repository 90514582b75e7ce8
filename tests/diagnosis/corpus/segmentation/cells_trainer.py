"""Segments cell bodies and cell walls in synthetic microscope tiles (three classes) with a batch-normalised U-Net."""
# fault: train_in_eval_mode

import logging

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("cells")


def tiles(rng, count, size=20):
    yy, xx = np.mgrid[:size, :size]
    x = np.zeros((count, 1, size, size), np.float32)
    y = np.zeros((count, size, size), np.int64)
    for i in range(count):
        for _ in range(rng.integers(1, 4)):
            cy, cx = rng.uniform(4, size - 4, 2)
            ra, rb = rng.uniform(3, 6, 2)
            r = ((yy - cy) / ra) ** 2 + ((xx - cx) / rb) ** 2
            y[i][r < 1.0] = 1
            y[i][r < 0.45] = 2
        shade = np.array([0.0, 0.9, 0.45])[y[i]] + 0.15 * rng.normal(size=(size, size))
        x[i, 0] = 2 * shade - 0.5
    return torch.from_numpy(x), torch.from_numpy(y)


class Block(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class SmallUNet(nn.Module):
    def __init__(self, c=8, classes=3):
        super().__init__()
        self.e1 = nn.Sequential(Block(1, c), Block(c, c))
        self.e2 = nn.Sequential(Block(c, 2 * c), Block(2 * c, 2 * c))
        self.d1 = nn.Sequential(Block(3 * c, c), Block(c, c))
        self.drop = nn.Dropout2d(0.1)
        self.out = nn.Conv2d(c, classes, 1)

    def forward(self, x):
        s = self.e1(x)
        b = self.drop(self.e2(F.max_pool2d(s, 2)))
        return self.out(self.d1(torch.cat([s, F.interpolate(b, scale_factor=2)], 1)))


class Trainer:
    def __init__(self, net, lr=0.03, batch=20):
        self.net, self.batch = net, batch
        self.opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)

    def validate(self, x, y):
        self.net.eval()
        with torch.no_grad():
            p = self.net(x).argmax(1)
        dice = [2 * ((p == k) & (y == k)).sum() / ((p == k).sum() + (y == k).sum()) for k in (1, 2)]
        return float(sum(dice) / 2)

    def run_epoch(self, x, y):
        self.net.train()  # REPAIRED
        losses = []
        for idx in torch.randperm(len(x)).split(self.batch):
            loss = F.cross_entropy(self.net(x[idx]), y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)


if __name__ == "__main__":
    torch.manual_seed(21)
    rng = np.random.default_rng(21)
    x_train, y_train = tiles(rng, 300)
    x_val, y_val = tiles(rng, 80)
    trainer = Trainer(SmallUNet())
    log.info("untrained: dice %.3f", trainer.validate(x_val, y_val))
    for epoch in range(1, 9):
        mean_loss = trainer.run_epoch(x_train, y_train)
        log.info("epoch %d: loss %.4f dice %.3f", epoch, mean_loss, trainer.validate(x_val, y_val))
