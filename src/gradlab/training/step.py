"""One training step: forward, backward, mask, guard, clip, penalise, update, mask, and what follows an update."""

import math
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

import torch
from torch import Tensor, nn

from gradlab import parallel
from gradlab.data import Batch, Examples
from gradlab.data.batch import parted, size
from gradlab.tasks.objective import Loss, Losses, check_apart, named
from gradlab.training.accumulation import Sum, added, agreed, by_count, over_processes
from gradlab.training.backward import Gradients, gradients, heard, heard_gradients
from gradlab.training.guard import Guard, NonFinite
from gradlab.training.optimizers import ClosureOptimizer, Optimizer
from gradlab.training.plan import Plan
from gradlab.training.regularisation import add_l1, limit_rows
from gradlab.training.small_update import SmallUpdate

Stepped = dict[str, Loss]
"""What a step leaves behind: sum and count of each loss, still on the device. Nothing has waited for it."""

Inputs = ParamSpec("Inputs")
Result = TypeVar("Result")
AfterUpdate = Callable[[Tensor | None], None]
"""Called after each update; where the tensor it is given is 1, the update was none."""


class Step(Protocol):
    """A step on one batch."""

    @property
    def guards(self) -> Sequence[Guard]:
        """One for each update that it makes."""

    def __call__(self, batch: Batch, lr: float) -> Stepped: ...

    def gradient_norms(self) -> dict[str, float]:
        """The length of the last step's gradient, of each parameter that has one; waits for the device."""


class GradientStep:
    """The step of every optimiser that takes gradients. A non-finite gradient norm never reaches the weights."""

    def __init__(
        self,
        loss: Callable[[Batch], Losses],
        model: nn.Module,
        optimizer: Optimizer,
        plan: Plan,
        guard: Guard,
        *,
        name: str = "loss",
        after: Sequence[AfterUpdate] = (),
        number: int = 0,
    ):
        """`number` is that of the first step that it makes: parameters with a later start are left alone."""
        self.loss = self.objective = loss
        self.model, self.optimizer, self.name = model, optimizer, name
        self.guard, self.guards, self.after, self.plan = guard, [guard], after, plan
        moved = optimizer.parameters
        self.late = [start > number for start in moved.starts]
        self.parameters = tuple([p for p, late in zip(moved.tensors, self.late, strict=True) if not late])
        self.parts, self.clip, self.l1, self.max_norm = plan.accumulate, plan.clip, plan.l1, plan.max_norm
        self.alone = parallel.count() == 1
        self.weights = [p.detach() for p in self.parameters if p.ndim >= 2]
        self.unreached: set[int] = set()
        self.seeds: dict[tuple[int, torch.dtype], Tensor] = {}
        self.groups: list[tuple[str, ...]] = []  # of losses, as all processes have them
        self.small: SmallUpdate | None = None  # in the place of guard, clipping and update
        self.backward: Callable[..., Gradients] | None = None
        self.checked = False  # the first losses are
        device = self.parameters[0].device
        if plan.precision != "float32":
            self.loss = _in_bf16(loss, device.type)
        if plan.precision == "fp8":
            self.loss = _in_fp8(self.loss)

    @property
    def roots(self) -> dict[str, Any]:
        """Everything in a step that need not be ours, by names."""
        return {f"objective {self.name}": self.objective, "model": self.model, f"optimizer {self.name}": self.optimizer}

    def __call__(self, batch: Batch, lr: float | Tensor) -> Stepped:
        if self.backward is None:  # asked once, when observers have started: whoever listens is there by then
            self.backward = heard_gradients if heard(self.model, self.parameters) else gradients
            if self.plan.precision == "fp8":  # where checkpointing computes outputs again, as they were
                self.backward = _in_fp8(self.backward)
        if self.parts == 1 and self.alone:
            losses = self.losses(batch)
            pairs = losses.values()
            seeds = tuple([self._seed(total, count) for total, count in pairs])
            slopes = self.backward(tuple([total for total, _ in pairs]), seeds, self.parameters)
        else:
            losses, slopes = self._summed(batch)
        if len(self.late) > len(self.parameters):
            in_order = iter(slopes)
            slopes = [None if late else next(in_order) for late in self.late]
        moved = self.optimizer.parameters
        if moved.pruned:
            slopes = moved.kept_gradients(slopes)
        present = [g for g in slopes if g is not None]
        self.unreached = {i for i, g in enumerate(slopes) if g is None} if len(present) < len(slopes) else set()
        skip = self._update(slopes, present, lr)
        moved.clear_pruned()
        if self.max_norm is not None:
            limit_rows(self.weights, self.max_norm, skip)
        for follow in self.after:
            follow(skip)
        return {name: (total.detach(), count) for name, (total, count) in losses.items()}

    def _update(self, slopes: Gradients, present: list[Tensor], lr: float | Tensor) -> Tensor | None:
        r"""Move the parameters; gradients g that are longer than θ = `clip` are first shortened to about θ.

        $$ g \leftarrow \min \left( 1, \frac{\theta}{\Vert g \Vert + \varepsilon} \right) g $$

        The equation has no ε where it is usually printed, and then says nothing of a gradient of 0. That of 1e-6 is
        torch's, so that a training is that of the usual loop; where ‖g‖ ≥ 1 it shortens g by a millionth at most.
        """
        if self.small is not None and isinstance(lr, Tensor) and not self.unreached:
            return self.small(present, lr)
        skip = self.guard.check(present)
        if self.clip is not None:
            factor = (self.clip / (torch.as_tensor(self.guard.norm) + 1e-6)).clamp(max=1.0)
            # Not in place: autograd may give several parameters the same tensor as their gradient.
            shortened = iter(torch._foreach_mul(present, factor))
            slopes = [None if g is None else next(shortened) for g in slopes]
        if self.l1:
            slopes = add_l1(slopes, self.optimizer.parameters, self.l1)
        self.optimizer.update(slopes, lr, skip)
        return skip

    def losses(self, batch: Batch) -> Stepped:
        losses = self.loss(batch)
        if not self.checked:
            named(losses, self.name)
            self.checked = True
        return {self.name: losses} if isinstance(losses, tuple) else dict(losses)

    def _seed(self, total: Tensor, count: Tensor | int) -> Tensor:
        """1 / count: the backward pass starts from it, so that the total need not be divided."""
        if isinstance(count, Tensor):
            return torch.where(count == 0, 0.0, 1 / count).to(total.dtype)
        key = count, total.dtype
        if key not in self.seeds:
            # Filled by the device, where a copy of a number would be waited for.
            self.seeds[key] = torch.full((), 1 / count if count else 0.0, dtype=total.dtype, device=total.device)
        return self.seeds[key]

    def _summed(self, batch: Batch) -> tuple[Stepped, Gradients]:
        """Losses and gradients from parts of the batch, one after the other, and from all processes.

        Gradients of sums add up to that of the whole sum, which is divided once: parts may be of any size and count.
        Only batch normalisation, which sees each part by itself, and dropout, which draws for each, tell them apart.
        """
        assert self.backward is not None
        rows, sums = size(batch), list[Sum]()
        for part in parted(batch, min(self.parts, rows)) if rows else ():
            losses = self.losses(part)
            sums = sums or [Sum(names, self.parameters) for names in self.groups or by_count(losses)]
            for left, one in enumerate(reversed(sums)):
                totals = tuple([losses[name][0] for name in one.names])
                ones = tuple([torch.ones_like(total) for total in totals])
                one.add(self.backward(totals, ones, self.parameters, keep=left + 1 < len(sums)), losses)
        if not self.alone:
            self.groups = self.groups or agreed([one.names for one in sums])
            sums = sums or [Sum(names, self.parameters) for names in self.groups]
            over_processes(sums, self.model)
        every = {name: loss for one in sums for name, loss in one.losses().items()}
        return every, added([one.mean_gradients() for one in sums])

    def gradient_norms(self) -> dict[str, float]:
        norms = self.guard.norms
        reached = [name for i, name in enumerate(self.optimizer.parameters.names) if i not in self.unreached]
        return dict(zip(reached, norms.tolist() if isinstance(norms, Tensor) else norms, strict=False))


def _in_bf16(loss: Callable[[Batch], Losses], device: str) -> Callable[[Batch], Losses]:
    """The loss computed in mixed precision."""

    def computed(batch: Batch) -> Losses:
        with torch.autocast(device, torch.bfloat16, cache_enabled=False):
            return loss(batch)

    return computed


def _in_fp8(function: Callable[Inputs, Result]) -> Callable[Inputs, Result]:
    """With the products of large linear maps in 8 bits."""
    from gradlab.nn.float8 import Float8Products

    def computed(*args: Inputs.args, **kwargs: Inputs.kwargs) -> Result:
        with Float8Products():
            return function(*args, **kwargs)

    return computed


class TurnsStep:
    """Several objectives in turn, each from the weights that the one before it left, at its multiple of the rate."""

    def __init__(self, steps: Sequence[tuple[Step, float]]):
        self.steps = steps
        self.guards = [guard for step, _ in steps for guard in step.guards]

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        stepped: Stepped = {}
        for step, multiple in self.steps:
            norm = step(batch, lr * multiple)
            check_apart(norm, stepped)
            stepped |= norm
        return stepped

    def gradient_norms(self) -> dict[str, float]:
        return {name: norm for step, _ in self.steps for name, norm in step.gradient_norms().items()}


class ClosureStep:
    """The step of an optimiser that evaluates the loss itself: BFGS and L-BFGS on the full batch."""

    def __init__(self, loss: Callable[[Batch], Losses], optimizer: ClosureOptimizer, guard: Guard, name: str = "loss"):
        self.loss, self.optimizer, self.name = loss, optimizer, name
        self.guard, self.guards = guard, [guard]

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        evaluated: list[Stepped] = []

        def mean_loss() -> Tensor:
            losses = named(self.loss(batch), self.name)
            evaluated.append({name: (total.detach(), count) for name, (total, count) in losses.items()})
            means = [total / count for total, count in losses.values()]
            return means[0] if len(means) == 1 else torch.stack(means).sum()

        before = [value.clone() for value in self.optimizer.values]
        self.optimizer.minimise(mean_loss, lr)
        slopes = [p.grad for p in self.optimizer.parameters.tensors if p.grad is not None]
        # The first loss is that of the weights before: infinite, its gradient may be finite all the same.
        first = [total for total, _ in evaluated[0].values()]
        try:
            self.guard.check(slopes)
            if not all(t.isfinite().all() for t in (*first, *self.optimizer.values)):
                raise NonFinite
        except NonFinite:
            torch._foreach_copy_(self.optimizer.values, before)
            raise
        return evaluated[0]

    def gradient_norms(self) -> dict[str, float]:
        parameters = zip(self.optimizer.parameters.names, self.optimizer.parameters.tensors, strict=True)
        return {name: p.grad.norm().item() for name, p in parameters if p.grad is not None}


def learns_without_gradients(model: nn.Module) -> bool:
    """Whether a model learns by itself: it counts, solves or iterates over the training split.

    It says so by a method `learn_without_gradients(train, batch)`, which is one step. `learning_steps`, where it has
    them, are as many as it can use.
    """
    return hasattr(model, "learn_without_gradients")


class LearnStep:
    """The step of a model that learns without gradients."""

    guards: Sequence[Guard] = ()

    def __init__(self, model: nn.Module, loss: Callable[[Batch], Losses], train: Examples, name: str = "loss"):
        self.model, self.loss, self.train, self.name = model, loss, train, name

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        with torch.no_grad():
            self.model.learn_without_gradients(self.train, batch)  # type: ignore[operator]
            return named(self.loss(batch), self.name)

    def gradient_norms(self) -> dict[str, float]:
        return {}


def gradient_norm(step: Step) -> float:
    """The length of the last step's gradient, before clipping; 0 where there is none. Waits for the device."""
    return math.hypot(*(float(guard.norm) for guard in step.guards))


def frozen_at(step: Step) -> int | None:
    """The step whose gradient was not finite, where the device had to be asked; waits for the device."""
    return step.guards[-1].frozen_at() if step.guards else None
