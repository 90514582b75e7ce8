"""Image classifier on the 8x8 digits whose initialiser and optimiser are picked by name from registries."""
# fault: constant_init

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset, random_split

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("digits")

T = TypeVar("T", bound=Callable)


class Registry(dict):
    def register(self, name: str) -> Callable[[T], T]:
        def deco(fn: T) -> T:
            self[name] = fn
            return fn

        return deco


INITS, OPTIMS = Registry(), Registry()


@INITS.register("flat")
def init_flat(layer: nn.Linear) -> None:
    nn.init.constant_(layer.weight, 1.0 / layer.in_features)
    nn.init.zeros_(layer.bias)


@INITS.register("kaiming")
def init_kaiming(layer: nn.Linear) -> None:
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.zeros_(layer.bias)


@OPTIMS.register("momentum")
def momentum(params, lr: float) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=lr, momentum=0.9, nesterov=True)


INIT = "flat"  # FAULT
INIT = "kaiming"  # REPAIRED
CONFIG = {
    "widths": [64, 48, 32, 10],
    "init": INIT,
    "optim": "momentum",
    "lr": 0.02,
    "epochs": 7,
}


def build(widths: list[int], init: str) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.05)]
    net = nn.Sequential(*layers[:-1])
    for layer in net:
        if isinstance(layer, nn.Linear):
            INITS[init](layer)
    return net


def accuracy(net: nn.Module, loader: DataLoader) -> float:
    net.eval()
    with torch.inference_mode():
        hits = sum((net(x).argmax(1) == y).sum().item() for x, y in loader)
    net.train()
    return hits / len(loader.dataset)


def main() -> None:
    torch.manual_seed(12)
    raw = load_digits()
    x: Tensor = (torch.tensor(raw.data, dtype=torch.float32) - 4.9) / 6.0
    train, valid = random_split(TensorDataset(x, torch.tensor(raw.target)), [1400, 397])
    train_dl, valid_dl = DataLoader(train, 40, shuffle=True), DataLoader(valid, 200)
    net = build(CONFIG["widths"], CONFIG["init"])
    opt = OPTIMS[CONFIG["optim"]](net.parameters(), CONFIG["lr"])
    sched = torch.optim.lr_scheduler.StepLR(opt, 4, 0.3)
    for epoch in range(CONFIG["epochs"]):
        mean = 0.0
        for x, y in train_dl:
            loss = nn.functional.cross_entropy(net(x), y, label_smoothing=0.02)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            mean += loss.item() / len(train_dl)
        sched.step()
        log.info("epoch %d loss %.3f valid acc %.3f", epoch, mean, accuracy(net, valid_dl))


if __name__ == "__main__":
    main()
