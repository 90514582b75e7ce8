"""Depth study: how well does a deep fully connected classifier separate concentric shells in 6 dimensions?"""
# fault: vanishing_gradient

import dataclasses
import sys

import torch
import torch.nn as nn


@dataclasses.dataclass(frozen=True)
class Settings:
    depth: int = 10
    width: int = 40
    n_train: int = 1800
    n_test: int = 600
    dim: int = 6
    steps: int = 400
    batch: int = 60
    lr: float = 2e-2
    seed: int = 1


def shells(n, dim, generator):
    direction = torch.randn(n, dim, generator=generator)
    direction = direction / direction.norm(dim=1, keepdim=True)
    label = torch.randint(0, 3, (n,), generator=generator)
    radius = 0.8 + 1.0 * label + 0.1 * torch.randn(n, generator=generator)
    return direction * radius.unsqueeze(1), label


def build(cfg):
    layers, d = [], cfg.dim
    for _ in range(cfg.depth):
        linear = nn.Linear(d, cfg.width)
        layers += [linear, nn.Sigmoid()]  # FAULT
        nn.init.kaiming_normal_(linear.weight, a=0.1)  # REPAIRED
        layers += [linear, nn.LeakyReLU(0.1)]  # REPAIRED
        d = cfg.width
    return nn.Sequential(*layers, nn.Linear(d, 3))


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(-1) == y).float().mean().item()


def main(cfg):
    gen = torch.Generator().manual_seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    x_tr, y_tr = shells(cfg.n_train, cfg.dim, gen)
    x_te, y_te = shells(cfg.n_test, cfg.dim, gen)
    mu, sigma = x_tr.mean(0), x_tr.std(0)
    x_tr, x_te = (x_tr - mu) / sigma, (x_te - mu) / sigma

    net = build(cfg)
    print(f"depth {cfg.depth}, {sum(p.numel() for p in net.parameters())} parameters")
    opt = torch.optim.SGD(net.parameters(), lr=cfg.lr, momentum=0.9)
    ce = nn.CrossEntropyLoss()
    for step in range(cfg.steps):
        net.train()
        idx = torch.randint(0, cfg.n_train, (cfg.batch,), generator=gen)
        loss = ce(net(x_tr[idx]), y_tr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0 or step == cfg.steps - 1:
            print(f"step {step:4d}  loss {loss.item():.4f}  test acc {accuracy(net, x_te, y_te):.3f}")
    return accuracy(net, x_te, y_te)


if __name__ == "__main__":
    print("final test accuracy %.3f" % main(Settings()))
    sys.exit(0)
