"""What keeps a gradient that is not finite away from the weights: on the host by looking, on a device by a flag."""

import math
from typing import Protocol

import torch
from torch import Tensor


class NonFinite(Exception):
    """A gradient is NaN or infinite. The weights have not been touched by it."""


class Guard(Protocol):
    """Sees the gradients of every update before it is made."""

    norm: float | Tensor
    """The length of the last gradient, before clipping."""
    norms: list[float] | Tensor
    """The same for each parameter that has a gradient."""

    @property
    def state(self) -> list[Tensor]:
        """What it keeps on the device from step to step."""

    def check(self, gradients: list[Tensor]) -> Tensor | None:
        """Note the norms. What it returns, if anything, is 1 where the update must be a no-op."""

    def frozen_at(self) -> int | None:
        """The step whose gradient was not finite, where the device had to be asked; waits for the device."""


class HostGuard:
    """On the CPU each step looks at its norm, and stops at once."""

    def __init__(self) -> None:
        self.state: list[Tensor] = []
        self.norm: float | Tensor = math.nan
        self.norms: list[float] | Tensor = []

    def check(self, gradients: list[Tensor]) -> None:
        self.norms = [norm.item() for norm in torch._foreach_norm(gradients)]
        self.norm = math.hypot(*self.norms)
        if not math.isfinite(self.norm):
            raise NonFinite

    def frozen_at(self) -> None:
        return None


class Flag:
    """On the device: whether a gradient was bad, and the steps that were made before it was."""

    def __init__(self, device: torch.device, step: int):
        self.bad, self.one = torch.zeros((), device=device), torch.ones((), device=device)
        self.steps = torch.full((), step, dtype=torch.int64, device=device)


class DeviceGuard:
    """On an accelerator, where looking means waiting, a flag turns the first bad update and all later ones into no-ops.

    The host reads the flag at log points, and finds the weights as they were before that step. Objectives that take
    turns share a flag; the last of them counts the steps.
    """

    def __init__(self, flag: Flag, counts: bool = True):
        self.flag, self.counts = flag, counts
        self.norm: float | Tensor = math.nan
        self.norms: list[float] | Tensor = []

    @property
    def state(self) -> list[Tensor]:
        return [self.flag.bad, self.flag.steps]

    def check(self, gradients: list[Tensor]) -> Tensor:
        bad = self.flag.bad
        norms = torch.stack(torch._foreach_norm(gradients))
        self.norms, norm = norms, torch.linalg.vector_norm(norms)
        self.norm = norm
        # Once 1, it stays 1. No comparison with NaN holds; `isfinite` would take four kernels where this takes one.
        torch.where(norm < math.inf, bad, self.flag.one, out=bad)
        if self.counts:
            self.flag.steps += bad == 0
        return bad

    def frozen_at(self) -> int | None:
        # Steps stopped counting at the bad one, so their count is its number.
        return int(self.flag.steps) if self.flag.bad.item() else None
