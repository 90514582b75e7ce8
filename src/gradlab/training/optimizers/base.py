"""What every optimiser is made of: parameters, an update rule with its state, and writes that a flag can stop."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from gradlab.registry import Fraction, Positive, Registry

Beta = Annotated[Fraction, "decay rate of a running average"]
Momentum = Annotated[Fraction, "share of the last velocity that is kept"]
Epsilon = Annotated[Positive, "added to the divisor, so that it is never zero"]
Rate = float | Tensor


class Parameters:
    """The trainable parameters of a model in order, and for each its weight decay, its multiple of the rate and its
    start: the step from which on it moves.

    Biases and normalisation gains (parameters with fewer than two axes) are not penalised unless `decay_all`. Pruned
    weights are 0 and stay so: their gradients are 0, and whatever an update makes of them is set back.
    """

    def __init__(
        self,
        model: nn.Module,
        weight_decay: float = 0.0,
        decay_all: bool = False,
        moved: Callable[[str], bool] = lambda name: True,
    ):
        named = [(n, p) for n, p in model.named_parameters() if p.requires_grad and moved(n)]
        self.model = model
        self.names = [n for n, _ in named]
        self.tensors = [p for _, p in named]
        self.penalised = [decay_all or p.ndim >= 2 for p in self.tensors]
        self.decays = [weight_decay if penalised else 0.0 for penalised in self.penalised]
        self.multiples = [1.0] * len(self.tensors)
        self.starts = [0] * len(self.tensors)
        self.pruned: dict[int, Tensor] = {}  # by the number of the parameter: where its weights are pruned

    @property
    def by_name(self) -> dict[str, Tensor]:
        return dict(zip(self.names, self.tensors, strict=True))

    def set(
        self,
        chosen: Callable[[str], bool],
        *,
        decay: float | None = None,
        multiple: float | None = None,
        start: int | None = None,
    ) -> int:
        """A weight decay, a multiple of the rate or a start of their own for some parameters; how many those are."""
        members = [i for i, name in enumerate(self.names) if chosen(name)]
        for i in members:
            if decay is not None:
                self.decays[i] = decay if self.penalised[i] else 0.0
            if multiple is not None:
                self.multiples[i] = multiple
            if start is not None:
                self.starts[i] = start
        return len(members)

    def prune(self, masks: Mapping[str, Tensor]) -> None:
        """Masks of some parameters, by their names: False where a weight is pruned."""
        named = enumerate(zip(self.names, self.tensors, strict=True))
        self.pruned = {i: ~masks[name].to(tensor.device) for i, (name, tensor) in named if name in masks}
        self.clear_pruned()

    def kept_gradients(self, gradients: "Sequence[Tensor | None]") -> list[Tensor | None]:
        """m ⊙ g, which is what a loss of m ⊙ θ gives; new tensors, since parameters may share one as their gradient."""
        return [
            g if g is None or i not in self.pruned else g.masked_fill(self.pruned[i], 0)
            for i, g in enumerate(gradients)
        ]

    def clear_pruned(self) -> None:
        """θ ← m ⊙ θ, by operations that a captured step may hold. Not a product, which has -0 for negative weights."""
        for i, pruned in self.pruned.items():
            self.tensors[i].detach().masked_fill_(pruned, 0)


class Optimizer(ABC):
    """An update rule with its state: for each parameter some tensors of its shape, and one step count for all.

    The count is that of the updates since the start of a parameter, also if its first gradient comes later: the bias
    correction of Adam is then that of the training's age, where `torch.optim` counts each parameter's own updates.
    """

    slots: tuple[str, ...] = ()
    """Names of the tensors kept for each parameter."""

    def __init__(self, parameters: Parameters):
        self.parameters = parameters
        # Detached: the same memory, and updates need no torch.no_grad().
        self.values = [p.detach() for p in parameters.tensors]
        self.state = {slot: [torch.zeros_like(v) for v in self.values] for slot in self.slots}
        self.step = torch.zeros((), device=self.values[0].device if self.values else None)
        self._grouped: dict[tuple[bool, ...], list[Group]] = {}

    def update(self, gradients: Sequence[Tensor | None], lr: Rate, skip: Tensor | None = None) -> None:
        """One step against the gradients; a parameter without one stays as it is. `skip` = 1 makes it a no-op."""
        self.step += 1
        for group in self._groups(tuple([g is not None for g in gradients])):
            rate = lr if group.multiple == 1 else lr * group.multiple
            if group.start:
                torch.sub(self.step, group.start, out=group.steps[0])
            self.apply(group, [gradients[i] for i in group.members], rate, skip)  # type: ignore[misc]
        if skip is not None:
            self.step -= skip

    @abstractmethod
    def apply(self, group: "Group", gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        """The rule, for parameters of equal weight decay and rate."""

    def kind(self, i: int) -> tuple[Any, ...]:
        """Parameters of one kind are given to the rule together."""
        return self.parameters.decays[i], self.parameters.multiples[i], self.parameters.starts[i]

    def _groups(self, used: tuple[bool, ...]) -> "list[Group]":
        if used not in self._grouped:
            kinds = [self.kind(i) for i in range(len(used))]
            chosen = [[i for i, u in enumerate(used) if u and kinds[i] == kind] for kind in sorted(set(kinds))]
            self._grouped[used] = [Group(self, members) for members in chosen if members]
        return self._grouped[used]

    def snapshot(self) -> dict[str, Any]:
        """The whole state, nested; tensors are the live ones."""
        named = {slot: dict(zip(self.parameters.names, t, strict=True)) for slot, t in self.state.items()}
        return {"step": self.step, **named}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.step.copy_(snapshot["step"])
        for slot, tensors in self.state.items():
            for name, tensor in zip(self.parameters.names, tensors, strict=True):
                tensor.copy_(snapshot[slot][name])


SEARCHING = frozenset({"bfgs", "lbfgs"})
"""Those that are closure optimisers, by name: what goes with them is asked before they are built."""


class ClosureOptimizer(Optimizer):
    """An optimiser that evaluates the loss itself, several times a step."""

    @abstractmethod
    def minimise(self, loss: Callable[[], Tensor], lr: float) -> None:
        """One step towards a lower loss; `.grad` is left with the gradient where it ends."""

    def penalised(self, loss: Callable[[], Tensor]) -> Tensor:
        """The loss with the L2 penalty, whose gradient is left in `.grad`."""
        tensors, value = self.parameters.tensors, loss()
        for p, decay in zip(tensors, self.parameters.decays, strict=True):
            p.grad = None
            if decay:
                value = value + decay / 2 * p.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        for p, gradient in zip(tensors, self.parameters.kept_gradients([p.grad for p in tensors]), strict=True):
            p.grad = gradient  # so that no direction moves a pruned weight
        return value

    def apply(self, group: "Group", gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        raise AssertionError(f"{type(self).__name__} takes a closure")


class Group:
    """Parameters with gradients and equal weight decay, rate and start, as the lists that the fused rules take."""

    def __init__(self, optimizer: Optimizer, members: list[int]):
        self.members = members
        first = members[0]
        self.decay, self.multiple, self.start = optimizer.kind(first)[:3]
        self.values = [optimizer.values[i] for i in members]
        self.state = {slot: [tensors[i] for i in members] for slot, tensors in optimizer.state.items()}
        self.steps = [torch.zeros_like(optimizer.step) if self.start else optimizer.step] * len(members)

    def decayed(self, gradients: list[Tensor]) -> list[Tensor]:
        """g + λ θ, the gradient with that of the L2 penalty."""
        return list(torch._foreach_add(gradients, self.values, alpha=self.decay)) if self.decay else gradients


optimizers: Registry[Optimizer] = Registry("optimizer", makes=Optimizer)


def descend(
    values: list[Tensor],
    directions: Sequence[Tensor],
    lr: Rate,
    skip: Tensor | None,
    *,
    decay: float = 0.0,
    velocities: Sequence[Tensor] = (),
    momentum: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
) -> None:
    """θ ← θ - η (u + λ θ), with momentum if asked for; nothing at all where `skip` is 1.

    Rules without a fused kernel of their own write through this one. It reads the flag on the device, where Python
    cannot branch, and leaves the values alone even where a direction is not a number, which no factor of 0 could do.
    """
    rule: Callable[..., None] = torch._fused_sgd_
    rule(
        values,
        directions,
        velocities,
        weight_decay=decay,
        momentum=momentum,
        lr=lr,
        dampening=dampening,
        nesterov=nesterov,
        maximize=False,
        is_first_step=False,  # velocities start at zero, so no step is a special first one
        found_inf=skip,
    )


def blend(means: list[Tensor], news: Sequence[Tensor], share: Rate, skip: Tensor | None) -> None:
    """m ← (1 - s) m + s x, a step towards the new values; nothing where `skip` is 1."""
    descend(means, torch._foreach_sub(means, news), share, skip)  # type: ignore[arg-type]
