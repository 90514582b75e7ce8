"""One network trained twice, in NumPy with derivatives by hand and in PyTorch: the same weights, the same batches."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from gradlab.data.dataset import sources
from gradlab.nn import Conv2d, Linear, MaxPool2d, ReLU
from gradlab.nn.losses import cross_entropy
from gradlab.scratch import Tensor, optimizers
from gradlab.scratch.convolution import conv2d, conv2d_by_hand
from gradlab.scratch.dense import Indices
from gradlab.scratch.gates import Array
from gradlab.scratch.networks import Network, cnn, step
from gradlab.training.optimizers import Parameters, momentum

_SIZE, _CLASSES, _LARGEST = 8, 10, 16  # of the digits; the value of the brightest pixel
_HELD_OUT, _BATCH, _RATE = 360, 64, 0.1

Batch = tuple[Array, Indices]


@dataclass(frozen=True)
class SideBySide:
    """The losses of each step in both, and what became of the kernels of the first layer."""

    by_hand: list[float]
    by_torch: list[float]
    by_engine: list[float]
    """With the derivatives that the engine finds for the product of matrices, instead of those by hand."""

    before: Array
    after: Array
    accuracy: dict[str, float]
    """On digits that were not trained on: in NumPy, and in PyTorch."""

    @property
    def differences(self) -> list[float]:
        return [abs(a - b) for a, b in zip(self.by_hand, self.by_torch, strict=True)]

    @classmethod
    def of_digits(cls, steps: int = 60) -> "SideBySide":
        batches, (held_out, classes) = _digits(steps)
        network, engine, twin = _network(conv2d_by_hand), _network(conv2d), in_torch(_network(conv2d_by_hand))
        before = network.parameters[0].value[:, 0]
        losses = _losses(network, batches), _torch_losses(twin, batches), _losses(engine, batches)
        with torch.no_grad():
            predicted = twin(torch.from_numpy(held_out)).argmax(1).numpy()
        accuracy = {"NumPy": network.accuracy(held_out, classes), "PyTorch": float(np.mean(predicted == classes))}
        return cls(*losses, before, network.parameters[0].value[:, 0], accuracy)


def in_torch(network: Network) -> nn.Sequential:
    """The network of `scratch.networks.cnn` in blocks for the hardware, with the same weights, in float64."""
    first, second, last, *biases = network.parameters
    layers: list[nn.Module] = [_convolution(first), _convolution(second), Linear(last.shape[1], last.shape[0])]
    for layer, weight, bias in zip(layers, (first, second, last), biases, strict=True):
        values = {"weight": torch.from_numpy(weight.value), "bias": torch.from_numpy(bias.value)}
        layer.double().load_state_dict(values)
    pooled = [part for layer in layers[:2] for part in (layer, ReLU(), MaxPool2d(2))]
    return nn.Sequential(*pooled, nn.Flatten(), layers[2])


def _convolution(weight: Tensor) -> Conv2d:
    outputs, channels, size, _ = weight.shape
    return Conv2d(channels, outputs, size, padding=size // 2)


def _network(convolution: Callable[..., Tensor]) -> Network:
    return cnn(_SIZE, _CLASSES, np.random.default_rng(0), convolution=convolution)


def _digits(steps: int) -> tuple[list[Batch], Batch]:
    """Batches of digits drawn at random, and the digits that none of them has."""
    raw, rng = sources["digits"](0), np.random.default_rng(0)
    order = rng.permutation(len(raw.targets))
    pictures, classes = raw.inputs[order].astype(np.float64) / _LARGEST, raw.targets[order]
    rows = (rng.choice(len(order) - _HELD_OUT, _BATCH, replace=False) for _ in range(steps))
    return [(pictures[b], classes[b]) for b in rows], (pictures[-_HELD_OUT:], classes[-_HELD_OUT:])


def _losses(network: Network, batches: list[Batch]) -> list[float]:
    optimizer = optimizers.Momentum(network.parameters, _RATE)
    return [step(network, optimizer, *batch) for batch in batches]


def _torch_losses(model: nn.Module, batches: list[Batch]) -> list[float]:
    optimizer, losses = momentum(Parameters(model)), []
    for pictures, classes in batches:
        loss = cross_entropy(model(torch.from_numpy(pictures)), torch.from_numpy(classes))
        optimizer.update(torch.autograd.grad(loss, list(model.parameters())), _RATE)
        losses.append(loss.item())
    return losses
