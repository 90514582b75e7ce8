"""Guard, clipping and Adam's update of a small model in four kernels that keep the whole device busy.

Torch's own fused update gives each thread block 65,536 numbers, so that eleven of them update a model of 670,000
parameters while the rest of the device waits: 48 of the 167 µs of its step on an H200.
"""

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
    alike = not plan.l1 and not any(optimizer.parameters.starts)
    plain = alike and all(v.is_cuda and v.dtype == torch.float32 and v.is_contiguous() for v in values)
    if not (isinstance(optimizer, Adam) and isinstance(guard, DeviceGuard)):
        return None
    runs = fits and plain and run_on(values[0].device)
    return SmallUpdate(optimizer, guard, plan.clip) if steps >= _STEPS and runs else None


class SmallUpdate:
    """The same as `guard.check`, clipping and `optimizer.update`, but for rounding."""

    def __init__(self, optimizer: Adam, guard: DeviceGuard, clip: float | None):
        from gradlab.kernels.small_update import AdamUpdate

        self.optimizer, self.guard, self.clip = optimizer, guard, clip
        means, squares = optimizer.state.values()
        decays, multiples = optimizer.parameters.decays, optimizer.parameters.multiples
        self.update = AdamUpdate(optimizer.values, means, squares, decays, multiples)

    def __call__(self, gradients: Sequence[Tensor], lr: Tensor) -> Tensor:
        """Note the norms and make the step, or none; what it returns is 1 if there was none."""
        optimizer, guard, flag = self.optimizer, self.guard, self.guard.flag
        counted = flag.steps if guard.counts else None
        self.update(
            gradients, lr, optimizer.step, flag.bad, counted, clip=self.clip, apart=optimizer.apart, **optimizer.options
        )
        guard.norms, guard.norm = self.update.norms, self.update.norm
        return flag.bad
