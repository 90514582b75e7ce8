"""Two plain trainings that time their own loop, to be run with and without the doctor: `python FILE mlp|cnn STEPS`.

A stranger's script: nothing of gradlab in it. The last line it prints is how long the loop took, as JSON.
"""

import json
import sys
import time

import torch
from torch import nn


def mlp() -> tuple[nn.Module, torch.Tensor, torch.optim.Optimizer]:
    """784-512-512-10: a small step, in which a few operations of the doctor's would show."""
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return model, torch.randn(4096, 784), torch.optim.Adam(model.parameters(), lr=1e-3)


def cnn() -> tuple[nn.Module, torch.Tensor, torch.optim.Optimizer]:
    """Convolutions on pictures of 32 by 32: nearly all of the step is arithmetic."""
    layers: list[nn.Module] = []
    for inner, outer in ((3, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 4 * 4, 10))
    return model, torch.randn(1024, 3, 32, 32), torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def main(name: str, steps: int) -> None:
    torch.manual_seed(0)
    model, inputs, optimizer = {"mlp": mlp, "cnn": cnn}[name]()
    # A rule to be learned: which of ten directions an input points along most.
    targets = (inputs.flatten(1) @ torch.randn(inputs[0].numel(), 10)).argmax(1)
    criterion = nn.CrossEntropyLoss()
    wall, cpu = time.perf_counter(), time.process_time()
    loss = torch.tensor(0.0)
    for step in range(steps):
        start = 64 * step % len(inputs)
        optimizer.zero_grad()
        loss = criterion(model(inputs[start : start + 64]), targets[start : start + 64])
        loss.backward()
        optimizer.step()
    taken = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "loss": loss.item()}
    print(json.dumps(taken))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
