"""One training step: forward, backward, guard, clip, update."""

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from gradlab.data import Batch
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


class Step(Protocol):
    """A step on one batch."""

    def __call__(self, batch: Batch, lr: float) -> Stepped: ...

    def gradient_norm(self) -> float:
        """The length of the last step's gradient, before clipping; waits for the device."""

    def frozen_at(self) -> int | None:
        """The step whose gradient was not finite, where the device had to be asked; waits for the device."""


class GradientStep:
    """The step of every optimiser that takes gradients. A non-finite gradient norm never reaches the weights.

    On the CPU each step looks at its norm. On an accelerator, where looking means waiting, a flag on the device turns
    the first update with a bad norm, and all after it, into no-ops; the host reads the flag at log points, and finds
    the weights as they were before that step.
    """

    def __init__(self, model: nn.Module, task: Task, optimizer: Optimizer, plan: Plan, start: int = 0):
        self.model, self.task, self.optimizer = model, task, optimizer
        self.parameters = tuple(optimizer.parameters.tensors)
        self.clip = plan.clip
        device = self.parameters[0].device
        self.on_host = device.type == "cpu"
        self.bad = torch.zeros((), device=device)
        self.updates = torch.full((), start, dtype=torch.int64, device=device)
        self.norm: float | Tensor = float("nan")
        self.seeds: dict[int, Tensor] = {}
        self.precision: AbstractContextManager[object] = (
            torch.autocast(device.type, torch.bfloat16, cache_enabled=False)
            if plan.precision == "bf16"
            else nullcontext()
        )

    def loss(self, x: Tensor, *judged: Tensor) -> tuple[Tensor, int]:
        with self.precision:
            return self.task.loss(self.model(x), *judged)

    def __call__(self, batch: Batch, lr: float | Tensor) -> Stepped:
        total, count = self.loss(*batch)
        gradients = _run_backward((total,), (self._seed(count, total),), False, False, self.parameters, True, False)
        norms = torch.stack(torch._foreach_norm([g for g in gradients if g is not None]))
        if self.on_host:
            self.norm = math.hypot(*norms.tolist())
            if not math.isfinite(self.norm):
                raise NonFinite
        else:
            self.norm = norm = torch.linalg.vector_norm(norms)
            torch.maximum(self.bad, (~norm.isfinite()).to(self.bad.dtype), out=self.bad)  # once 1, it stays 1
            self.updates += self.bad == 0
        if self.clip is not None:
            factor = (self.clip / (torch.as_tensor(self.norm) + 1e-6)).clamp(max=1.0)
            torch._foreach_mul_([g for g in gradients if g is not None], factor)
        self.optimizer.update(gradients, lr, None if self.on_host else self.bad)
        return Stepped(total.detach(), count)

    def _seed(self, count: int, total: Tensor) -> Tensor:
        """1 / count: the gradient of a mean, without dividing the sum."""
        if count not in self.seeds:
            self.seeds[count] = torch.tensor(1 / count, dtype=total.dtype, device=total.device)
        return self.seeds[count]

    def gradient_norm(self) -> float:
        return float(self.norm)

    def frozen_at(self) -> int | None:
        # Updates stopped counting at the bad step, so their count is its number.
        return int(self.updates) if not self.on_host and self.bad.item() else None


class ClosureStep:
    """The step of an optimiser that evaluates the loss itself: L-BFGS on the full batch."""

    def __init__(self, model: nn.Module, task: Task, optimizer: Lbfgs):
        self.model, self.task, self.optimizer = model, task, optimizer

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        x, *judged = batch
        losses: list[tuple[Tensor, int]] = []

        def mean_loss() -> Tensor:
            total, count = self.task.loss(self.model(x), *judged)
            losses.append((total.detach(), count))
            return total / count

        before = [value.clone() for value in self.optimizer.values]
        self.optimizer.minimise(mean_loss, lr)
        if not all(t.isfinite().all() for t in (*self._gradients(), *self.optimizer.values)):
            torch._foreach_copy_(self.optimizer.values, before)
            raise NonFinite
        return Stepped(*losses[0])

    def _gradients(self) -> list[Tensor]:
        return [p.grad for p in self.optimizer.parameters.tensors if p.grad is not None]

    def gradient_norm(self) -> float:
        return math.hypot(*torch.stack(torch._foreach_norm(self._gradients())).tolist())

    def frozen_at(self) -> None:
        return None
