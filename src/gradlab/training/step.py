"""One training step: forward, backward, guard, clip, penalise, update, constrain, average, carry."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from gradlab.data import Batch, Examples
from gradlab.data.text.windows import Windows
from gradlab.models.ngram import NGram
from gradlab.tasks import Task
from gradlab.training.average import Average
from gradlab.training.carry import Carried
from gradlab.training.optimizers import Lbfgs, Optimizer
from gradlab.training.plan import Plan
from gradlab.training.regularisation import add_l1, limit_rows

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

    def gradient_norms(self) -> list[float | None]:
        """The same for each parameter by itself; None where the loss does not depend on it."""

    def frozen_at(self) -> int | None:
        """The step whose gradient was not finite, where the device had to be asked; waits for the device."""


class GradientStep:
    """The step of every optimiser that takes gradients. A non-finite gradient norm never reaches the weights.

    On the CPU each step looks at its norm. On an accelerator, where looking means waiting, a flag on the device turns
    the first update with a bad norm, and all after it, into no-ops; the host reads the flag at log points, and finds
    the weights as they were before that step.
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        optimizer: Optimizer,
        plan: Plan,
        start: int = 0,
        average: Average | None = None,
        carried: Carried | None = None,
    ):
        self.task, self.optimizer, self.average, self.carried = task, optimizer, average, carried
        self.forward: Callable[[Tensor], Tensor] = model if carried is None else carried
        self.parameters = tuple(optimizer.parameters.tensors)
        self.parts, self.clip, self.l1, self.max_norm = plan.accumulate, plan.clip, plan.l1, plan.max_norm
        self.weights = [p.detach() for p in self.parameters if p.ndim >= 2]
        device = self.parameters[0].device
        self.on_host = device.type == "cpu"
        self.bad = torch.zeros((), device=device)
        self.updates = torch.full((), start, dtype=torch.int64, device=device)
        self.norm: float | Tensor = float("nan")
        self.norms: list[float] | Tensor = []  # of each parameter that has a gradient
        self.unreached: set[int] = set()
        self.seeds: dict[int, Tensor] = {}
        self.precision: AbstractContextManager[object] = (
            torch.autocast(device.type, torch.bfloat16, cache_enabled=False)
            if plan.precision == "bf16"
            else nullcontext()
        )

    def loss(self, x: Tensor, *judged: Tensor) -> tuple[Tensor, int]:
        with self.precision:
            return self.task.training_loss(self.forward(x), *judged)

    def __call__(self, batch: Batch, lr: float | Tensor) -> Stepped:
        if self.parts == 1:
            total, count = self.loss(*batch)
            gradients = self._backward(total, count)
        else:
            total, count, gradients = self._accumulated(batch)
        found = [g for g in gradients if g is not None]
        self.unreached = {i for i, g in enumerate(gradients) if g is None} if len(found) < len(gradients) else set()
        norms = torch.stack(torch._foreach_norm(found))
        if self.on_host:
            skip = None
            self.norms = norms.tolist()
            self.norm = math.hypot(*self.norms)
            if not math.isfinite(self.norm):
                raise NonFinite
        else:
            skip = self.bad
            self.norms, norm = norms, torch.linalg.vector_norm(norms)
            self.norm = norm
            torch.maximum(self.bad, (~norm.isfinite()).to(self.bad.dtype), out=self.bad)  # once 1, it stays 1
            self.updates += self.bad == 0
        if self.clip is not None:
            factor = (self.clip / (torch.as_tensor(self.norm) + 1e-6)).clamp(max=1.0)
            # Not in place: autograd may give several parameters the same tensor as their gradient.
            shortened = iter(torch._foreach_mul(found, factor))
            gradients = [None if g is None else next(shortened) for g in gradients]
        if self.l1:
            gradients = add_l1(gradients, self.optimizer.parameters, self.l1)
        self.optimizer.update(gradients, lr, skip)
        if self.max_norm is not None:
            limit_rows(self.weights, self.max_norm, skip)
        if self.average is not None:
            self.average.update(self.optimizer.step, skip)
        if self.carried is not None:
            self.carried.advance(skip)
        return Stepped(total.detach(), count)

    def _backward(self, total: Tensor, count: int) -> Sequence[Tensor | None]:
        """The gradients of total / count, without dividing the total: the backward pass is seeded with 1 / count."""
        if count not in self.seeds:
            self.seeds[count] = torch.tensor(1 / count, dtype=total.dtype, device=total.device)
        return _run_backward((total,), (self.seeds[count],), False, False, self.parameters, True, False)

    def _accumulated(self, batch: Batch) -> tuple[Tensor, int, Sequence[Tensor | None]]:
        """Loss, count and gradients from parts of the batch, one after the other: memory holds one part's activations.

        Gradients of sums add up to that of the whole sum, which is divided once: parts may be of any size and count.
        Only batch normalisation, which sees each part by itself, and dropout, which draws for each, tell them apart.
        """
        sums, reached = [torch.zeros_like(p) for p in self.parameters], set[int]()
        totals, count = list[Tensor](), 0
        parts = min(self.parts, len(batch[0]))
        for part in zip(*(tensor.tensor_split(parts) for tensor in batch), strict=True):
            total, number = self.loss(*part)
            found = {i: g for i, g in enumerate(self._backward(total, 1)) if g is not None}
            torch._foreach_add_([sums[i] for i in found], list(found.values()))
            reached.update(found)
            totals.append(total.detach())
            count += number
        torch._foreach_div_(sums, count)
        return torch.stack(totals).sum(), count, [s if i in reached else None for i, s in enumerate(sums)]

    def gradient_norm(self) -> float:
        return float(self.norm)

    def gradient_norms(self) -> list[float | None]:
        found = iter(self.norms.tolist() if isinstance(self.norms, Tensor) else self.norms)
        return [None if i in self.unreached else next(found, None) for i in range(len(self.parameters))]

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
            total, count = self.task.training_loss(self.model(x), *judged)
            losses.append((total.detach(), count))
            return total / count

        before = [value.clone() for value in self.optimizer.values]
        self.optimizer.minimise(mean_loss, lr)
        # The first loss is that of the weights before: infinite, its gradient may be finite all the same.
        if not all(t.isfinite().all() for t in (losses[0][0], *self._gradients(), *self.optimizer.values)):
            torch._foreach_copy_(self.optimizer.values, before)
            raise NonFinite
        return Stepped(*losses[0])

    def _gradients(self) -> list[Tensor]:
        return [p.grad for p in self.optimizer.parameters.tensors if p.grad is not None]

    def gradient_norm(self) -> float:
        return math.hypot(*torch.stack(torch._foreach_norm(self._gradients())).tolist())

    def gradient_norms(self) -> list[float | None]:
        return [None if p.grad is None else p.grad.norm().item() for p in self.optimizer.parameters.tensors]

    def frozen_at(self) -> None:
        return None


class CountStep:
    """The step of a model that learns by counting: one, over all of the text at once."""

    def __init__(self, model: NGram, task: Task, train: Examples):
        self.model, self.task, self.train = model, task, train

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        assert isinstance(self.train.inputs, Windows)
        self.model.fit(self.train.inputs.tokens)
        with torch.no_grad():
            return Stepped(*self.task.training_loss(self.model(batch[0]), batch[1]))

    def gradient_norm(self) -> float:
        return 0.0

    def gradient_norms(self) -> list[float | None]:
        return []

    def frozen_at(self) -> int | None:
        return None
