"""What differs in a training that several processes do together: parts of batches, random numbers, batch statistics."""

import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab import parallel
from gradlab.data import Batch
from gradlab.data.hashing import key
from gradlab.training.step import learns_without_gradients

BatchNorm = nn.modules.batchnorm._BatchNorm


def part_of(model: nn.Module) -> tuple[int, int]:
    """Which part of every batch this process reads, and of how many.

    A model that learns without gradients reads all of it in each of them: nobody could put together what several have
    learned, but all of them learn the same.
    """
    return (0, 1) if learns_without_gradients(model) else (parallel.rank(), parallel.count())


def drawn(batches: Iterator[Batch], seed: int, step: int, rank: int) -> Iterator[Batch]:
    """Batches from a step on; each of them, and the step that is made with it, draws the numbers of (seed, step, rank).

    So no two processes drop the same units or play the same game, and a resumed run draws as it would have: nothing
    need be saved of it.
    """
    while True:
        torch.manual_seed(key(seed, step, rank))
        batch = next(batches, None)
        if batch is None:
            return
        yield batch
        step += 1


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
