"""Residual network with batch norm on digits; the last norm of each branch starts at zero, cosine schedule to 0."""

import math

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        nn.init.zeros_(self.bn2.weight)
        self.shortcut = nn.Identity()
        if stride != 1 or cin != cout:
            self.shortcut = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        out = torch.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return torch.relu(out + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, widths=(8, 16, 24), classes=10):
        super().__init__()
        self.conv = nn.Conv2d(1, widths[0], 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(widths[0])
        ins = (widths[0], *widths[:-1])
        self.stages = nn.Sequential(*[BasicBlock(i, o, 1 + (k > 0)) for k, (i, o) in enumerate(zip(ins, widths))])
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        return self.fc(self.stages(x).mean((2, 3)))


def split_decay(model, wd):
    decay = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": decay, "weight_decay": wd}, {"params": plain, "weight_decay": 0.0}]


def main(epochs=8, warmup=20, peak=0.1):
    torch.manual_seed(17)
    d = load_digits()
    x = (torch.tensor(d.images).float()[:, None] - 4.9) / 6.0
    y = torch.tensor(d.target)
    order = torch.randperm(len(x))
    train = TensorDataset(x[order[:1344]], y[order[:1344]])
    xv, yv = x[order[1344:]], y[order[1344:]]
    loader = DataLoader(train, batch_size=64, shuffle=True)

    net = ResNet()
    opt = torch.optim.SGD(split_decay(net, 1e-3), lr=peak, momentum=0.9, nesterov=True)
    steps = epochs * len(loader)

    def factor(s):
        return (s + 1) / warmup if s < warmup else 0.5 * (1 + math.cos(math.pi * (s - warmup) / (steps - warmup)))

    sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
    crit = nn.CrossEntropyLoss()
    for ep in range(epochs):
        net.train()
        tot = 0.0
        for xb, yb in loader:
            opt.zero_grad()
            loss = crit(net(xb), yb)
            loss.backward()
            opt.step()
            sched.step()
            tot += loss.item()
        net.eval()
        with torch.no_grad():
            out = net(xv)
        acc = (out.argmax(1) == yv).float().mean().item()
        print(
            f"{ep} lr={sched.get_last_lr()[0]:.4f} train={tot / len(loader):.4f} val={crit(out, yv):.4f} acc={acc:.4f}"
        )


if __name__ == "__main__":
    main()
