"""Guard, clipping and Adam's update of a small model in four kernels that keep the whole device busy.

Torch's own fused update gives each thread block 65,536 numbers, so that eleven of them update a model of 670,000
parameters while the rest of the device waits: 48 of the 167 µs of its step on an H200.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from gradlab.kernels import run_on
from gradlab.training.guard import DeviceGuard, Guard
from gradlab.training.optimizers import Optimizer
from gradlab.training.optimizers.adam import Adam
from gradlab.training.plan import Plan

_SMALL, _FEW = 2**22, 128  # numbers and parameters: of more, torch's way has work for the whole device
# What is spared, some 60 µs a step, pays for loading the kernels after so many, and a few times as many where they are
# built first, once on a machine.
_STEPS = 4000


def small_update(optimizer: Optimizer, guard: Guard, plan: Plan, steps: int) -> "SmallUpdate | None":
    """This way of updating, where it can be and pays within the steps of the whole run."""
    values = optimizer.values
    fits = len(values) <= _FEW and sum(v.numel() for v in values) <= _SMALL
    plain = not plan.l1 and all(v.is_cuda and v.dtype == torch.float32 and v.is_contiguous() for v in values)
    if not (isinstance(optimizer, Adam) and isinstance(guard, DeviceGuard)):
        return None
    runs = fits and plain and run_on(values[0].device)
    return SmallUpdate(optimizer, guard, plan.clip) if steps >= _STEPS and runs else None


class SmallUpdate:
    """The same as `guard.check`, clipping and `optimizer.update`, but for rounding."""

    def __init__(self, optimizer: Adam, guard: DeviceGuard, clip: float | None):
        from gradlab.kernels import small_update as small_kernels

        self.optimizer, self.guard, self.clip, self.kernels = optimizer, guard, clip, small_kernels
        values, device = optimizer.values, optimizer.step.device
        facts, owners, offset = list[list[int]](), list[int](), 0
        for i, tensors in enumerate(zip(values, *optimizer.state.values(), strict=True)):
            size = tensors[0].numel()
            facts.append([*(tensor.data_ptr() for tensor in tensors), size, offset, len(owners)])
            owners += [i] * -(-size // small_kernels.BLOCK)
            offset += size
        self.rows = 1 << (len(values) - 1).bit_length()
        self.most = max(owners.count(i) for i in range(len(values)))
        self.facts = torch.tensor(facts, device=device)
        self.owners = torch.tensor(owners, dtype=torch.int32, device=device)
        self.sums = torch.empty(len(owners), device=device)
        self.decays = torch.tensor(optimizer.parameters.decays, device=device)
        self.multiples = torch.tensor(optimizer.parameters.multiples, device=device)
        self.norms, self.norm = torch.empty(len(values), device=device), torch.empty((), device=device)
        self.factors = torch.empty(3, device=device)

    def __call__(self, gradients: Sequence[Tensor], lr: Tensor) -> Tensor:
        """Note the norms and make the step, or none; what it returns is 1 if there was none."""
        kernels, optimizer, guard, flag = self.kernels, self.optimizer, self.guard, self.guard.flag
        block, together = kernels.BLOCK, torch.cat([g.reshape(-1) for g in gradients])
        beta1, beta2, eps = optimizer.options.values()
        grid = (len(self.owners),)
        kernels.add_squares[grid](together, self.owners, self.facts, self.sums, BLOCK=block)
        kernels.decide[(1,)](
            self.sums,
            self.facts,
            self.norms,
            self.norm,
            flag.bad,
            flag.steps,
            optimizer.step,
            self.factors,
            CLIP=self.clip,
            LOG_BETA1=_log(beta1),
            LOG_BETA2=_log(beta2),
            COUNTS=guard.counts,
            PARAMETERS=len(self.facts),
            ROWS=self.rows,
            WIDTH=kernels.TILE // self.rows,
            MOST=self.most,
            BLOCK=block,
        )
        kernels.adam[grid](
            together,
            self.owners,
            self.facts,
            self.decays,
            self.multiples,
            self.factors,
            flag.bad,
            lr,
            BETA1=beta1,
            BETA2=beta2,
            EPS=eps,
            APART=optimizer.apart,
            BLOCK=block,
        )
        guard.norms, guard.norm = self.norms, self.norm
        return flag.bad


def _log(beta: float) -> float:
    return math.log(beta) if beta else -1e9
