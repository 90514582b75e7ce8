"""Gradients that are summed over parts of a batch and over processes, and divided once."""

from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor, nn

from gradlab import parallel
from gradlab.tasks.objective import Loss
from gradlab.training.backward import Gradients


class Sum:
    """Losses that have one count, and their gradients: as sums, until all parts are there."""

    def __init__(self, names: tuple[str, ...], parameters: Sequence[Tensor]):
        self.names = names
        self.gradients = [torch.zeros_like(p) for p in parameters]
        self.reached = [False] * len(parameters)
        self.totals: dict[str, list[Tensor]] = {name: [] for name in names}
        self.count: Tensor | int = 0

    def add(self, gradients: Gradients, losses: dict[str, Loss]) -> None:
        """Take in a part."""
        there = [(i, g) for i, g in enumerate(gradients) if g is not None]
        torch._foreach_add_([self.gradients[i] for i, _ in there], [g for _, g in there])
        for i, _ in there:
            self.reached[i] = True
        for name in self.names:
            self.totals[name].append(losses[name][0].detach())
        self.count = self.count + losses[self.names[0]][1]

    def losses(self) -> dict[str, Loss]:
        return {name: (torch.stack(totals).sum(), self.count) for name, totals in self.totals.items()}

    def mean_gradients(self) -> Gradients:
        """The gradients of the mean, None where no part's loss depends on a parameter; 0 where nothing was counted."""
        count = self.count
        divisor = torch.where(count == 0, torch.inf, count) if isinstance(count, Tensor) else count or torch.inf
        torch._foreach_div_(self.gradients, divisor)
        return [g if reached else None for g, reached in zip(self.gradients, self.reached, strict=True)]

    @property
    def numbers(self) -> Float64[Tensor, " numbers"]:
        """Count, totals, and which parameters were reached, for other processes to add theirs."""
        device = self.gradients[0].device
        totals = [torch.stack(parts).sum() if parts else 0.0 for parts in self.totals.values()]
        numbers = [self.count, *totals, *self.reached]
        return torch.stack([torch.as_tensor(n, dtype=torch.float64, device=device) for n in numbers])

    @numbers.setter
    def numbers(self, sums: Float64[Tensor, " numbers"]) -> None:
        self.count, *totals = sums[: 1 + len(self.names)].unbind()
        self.totals = {name: [total] for name, total in zip(self.names, totals, strict=True)}
        self.reached = [number > 0 for number in sums[1 + len(self.names) :].tolist()]


def over_processes(sums: Sequence[Sum], model: nn.Module) -> None:
    """Sums over all processes in place of those of this one."""
    mine = [one.numbers for one in sums]
    parallel.sum_up([*mine, *(gradient for one in sums for gradient in one.gradients)], model)
    for one, numbers in zip(sums, mine, strict=True):
        one.numbers = numbers


def by_count(losses: dict[str, Loss]) -> list[tuple[str, ...]]:
    """Names of losses whose count is one and the same tensor: they share a backward pass.

    Numbers that are equal in this batch may differ in the next.

    >>> zero, tokens = torch.zeros(()), torch.tensor(8)
    >>> by_count({"reconstruction": (zero, tokens), "kl": (zero, tokens), "labels": (zero, 8)})
    [('reconstruction', 'kl'), ('labels',)]
    """
    groups: dict[object, list[str]] = {}
    for name, (_, count) in losses.items():
        groups.setdefault(id(count) if isinstance(count, Tensor) else name, []).append(name)
    return [tuple(names) for names in groups.values()]


def agreed(groups: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The same as all processes have them: one without an example in its first batch learns of them here."""
    everywhere = parallel.every([list(names) for names in groups])
    return [tuple(names) for names in next(filter(None, everywhere))]


def added(parts: Sequence[Gradients]) -> Gradients:
    """Gradients added up, parameter by parameter."""
    if len(parts) == 1:
        return parts[0]
    gradients = ([g for g in each if g is not None] for each in zip(*parts, strict=True))
    return [torch.stack(each).sum(0) if len(each) > 1 else (each[0] if each else None) for each in gradients]
