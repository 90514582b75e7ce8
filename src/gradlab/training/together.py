"""What differs in a training that several processes do together: parts of batches, random numbers, batch statistics."""

import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
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


class _Summed(torch.autograd.Function):
    """The sum over all processes. Each part of it has a say in the losses of all, so that gradients are summed too."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        return parallel.summed(part)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return parallel.summed(gradient)


_summed: Callable[[Tensor], Tensor] = _Summed.apply


def _over_all(self: Any, x: Tensor) -> Tensor:
    if not self.training:
        output: Tensor = type(self).forward(self, x)
        return output
    axes, shape = [0, *range(2, x.ndim)], [1, -1] + [1] * (x.ndim - 2)
    size = torch.tensor(float(x.numel() // x.shape[1]), device=x.device)
    count = parallel.summed(size)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))  # the statistics of bf16 numbers are not taken in bf16
    mean = _summed(wide.sum(axes)) / count
    centred = wide - mean.view(shape)
    variance = _summed(centred.square().sum(axes)) / count
    if self.track_running_stats:
        self.num_batches_tracked += 1
        share = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
        with torch.no_grad():
            self.running_mean.lerp_(mean, share)
            self.running_var.lerp_(variance * count / (count - 1), share)
    y: Tensor = centred * torch.rsqrt(variance + self.eps).view(shape)
    y = torch.addcmul(self.bias.view(shape), y, self.weight.view(shape)) if self.affine else y
    return y.to(x.dtype)
