"""What differs in a step that several processes take together: random numbers, and batch normalisation over all."""

import types
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab import parallel
from gradlab.data import Batch
from gradlab.data.hashing import key
from gradlab.training.step import Step, Stepped

BatchNorm = nn.modules.batchnorm._BatchNorm


class DrawingStep:
    """A step whose random numbers are those of (seed, step, rank).

    So no two processes drop the same units, and a resumed run draws as it would have: nothing need be saved of it.
    """

    def __init__(self, step: Step, seed: int, number: Callable[[], int]):
        self.step, self.seed, self.number = step, seed, number
        self.guards, self.gradient_norms = step.guards, step.gradient_norms

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        torch.manual_seed(key(self.seed, self.number(), parallel.rank()))
        return self.step(batch, lr)


def synchronise(model: nn.Module) -> None:
    """Let every batch normalisation of a model see the examples of all processes, as a single process would."""
    for module in model.modules():
        if isinstance(module, BatchNorm):
            module.forward = types.MethodType(_over_all, module)  # type: ignore[method-assign]


def _over_all(self: Any, x: Tensor) -> Tensor:
    if not self.training:
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)
    from torch.distributed.nn import functional

    all_reduce: Callable[[Tensor], Tensor] = functional.all_reduce  # which gradients pass through
    axes, shape = [0, *range(2, x.ndim)], [1, -1] + [1] * (x.ndim - 2)
    size = torch.tensor(float(x.numel() // x.shape[1]), device=x.device)
    count = all_reduce(size)
    mean = all_reduce(x.sum(axes)) / count
    centred = x - mean.view(shape)
    variance = all_reduce(centred.square().sum(axes)) / count
    if self.track_running_stats:
        self.num_batches_tracked += 1
        share = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
        with torch.no_grad():
            self.running_mean.lerp_(mean, share)
            self.running_var.lerp_(variance * count / (count - 1), share)
    y: Tensor = centred * torch.rsqrt(variance + self.eps).view(shape)
    return torch.addcmul(self.bias.view(shape), y, self.weight.view(shape)) if self.affine else y
