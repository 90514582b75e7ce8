"""One training step: forward, backward, guard, clip, update."""

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from gradlab.data import Examples
from gradlab.tasks import Task
from gradlab.training.optimizers import Lbfgs, Optimizer
from gradlab.training.plan import Plan

# What `loss.backward()` calls in the end. The Python around it (hooks, logging, making the seed) costs a fifth of the
# step of a small model, and neither gradients of several losses nor higher derivatives are wanted here.
_run_backward = torch.autograd.Variable._execution_engine.run_backward


class NonFinite(Exception):
    """A gradient is NaN or infinite. The weights have not been touched by it."""


@dataclass(slots=True)
class Stepped:
    """What a step leaves behind, still on the device: nothing has waited for it."""

    loss: Tensor
    count: int
    gradient_norm: Tensor


class Step(Protocol):
    """A step on some rows of the training split."""

    def __call__(self, rows: Tensor, lr: float) -> Stepped: ...

    def frozen_at(self) -> int | None:
        """The step whose gradient was not finite, where the device had to be asked; waits for the device."""


class GradientStep:
    """The step of every optimiser that takes gradients. A non-finite gradient norm never reaches the weights.

    On the CPU each step looks at its norm. On an accelerator, where looking means waiting, a flag on the device turns
    the first update with a bad norm, and all after it, into no-ops; the host reads the flag at log points, and finds
    the weights as they were before that step.
    """

    def __init__(
        self, model: nn.Module, task: Task, examples: Examples, optimizer: Optimizer, plan: Plan, start: int = 0
    ):
        self.model, self.task, self.examples, self.optimizer = model, task, examples, optimizer
        self.parameters = tuple(optimizer.parameters.tensors)
        self.clip = plan.clip
        device = examples.inputs.device
        self.bad = None if device.type == "cpu" else torch.zeros((), device=device)
        self.updates = torch.full((), start, dtype=torch.int64, device=device)
        self.seeds: dict[int, Tensor] = {}
        self.precision: AbstractContextManager[object] = (
            torch.autocast(device.type, torch.bfloat16, cache_enabled=False)
            if plan.precision == "bf16"
            else nullcontext()
        )

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, int]:
        with self.precision:
            return self.task.loss(self.model(x), y)

    def __call__(self, rows: Tensor, lr: float | Tensor) -> Stepped:
        x, y = self.examples.inputs.index_select(0, rows), self.examples.targets.index_select(0, rows)
        total, count = self.loss(x, y)
        gradients = _run_backward((total,), (self._seed(count, total),), False, False, self.parameters, True, False)
        used = [g for g in gradients if g is not None]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(used)))
        if self.bad is None:
            if not math.isfinite(norm.item()):
                raise NonFinite
        else:
            torch.maximum(self.bad, (~norm.isfinite()).to(self.bad.dtype), out=self.bad)  # once 1, it stays 1
            self.updates += self.bad == 0
        if self.clip is not None:
            torch._foreach_mul_(used, (self.clip / (norm + 1e-6)).clamp(max=1.0))
        self.optimizer.update(gradients, lr, self.bad)
        return Stepped(total.detach(), count, norm)

    def _seed(self, count: int, total: Tensor) -> Tensor:
        """1 / count: the gradient of a mean, without dividing the sum."""
        if count not in self.seeds:
            self.seeds[count] = torch.tensor(1 / count, dtype=total.dtype, device=total.device)
        return self.seeds[count]

    def frozen_at(self) -> int | None:
        # Updates stopped counting at the bad step, so their count is its number.
        return None if self.bad is None or not self.bad.item() else int(self.updates)


class ClosureStep:
    """The step of an optimiser that evaluates the loss itself: L-BFGS on the full batch."""

    def __init__(self, model: nn.Module, task: Task, examples: Examples, optimizer: Lbfgs):
        self.model, self.task, self.examples, self.optimizer = model, task, examples, optimizer

    def __call__(self, rows: Tensor, lr: float) -> Stepped:
        x, y = self.examples.inputs.index_select(0, rows), self.examples.targets.index_select(0, rows)
        losses: list[tuple[Tensor, int]] = []

        def mean_loss() -> Tensor:
            total, count = self.task.loss(self.model(x), y)
            losses.append((total.detach(), count))
            return total / count

        before = [value.clone() for value in self.optimizer.values]
        self.optimizer.minimise(mean_loss, lr)
        gradients = [p.grad for p in self.optimizer.parameters.tensors if p.grad is not None]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        if not (norm.isfinite() and all(value.isfinite().all() for value in self.optimizer.values)):
            torch._foreach_copy_(self.optimizer.values, before)
            raise NonFinite
        return Stepped(*losses[0], norm)

    def frozen_at(self) -> None:
        return None
