"""Group normalisation of pictures, and the SiLU behind it, in one pass."""

from typing import Any

import torch
from torch import Tensor

from gradlab import scratch
from gradlab.scratch import normalisation
from gradlab.scratch.functions import silu
from gradlab.verification.case import Case
from gradlab.verification.checks import Call
from gradlab.verification.families.kernels.calling import conform, module, refuse_float64
from gradlab.verification.subject import subject

KERNEL = "kernel.group_norm"


@subject(KERNEL)
def group_norm(x: Tensor, gain: Tensor, shift: Tensor, *, groups: int, eps: float, activation: str | None) -> Tensor:
    """Of pictures whose channels lie side by side, which the kernel is for."""
    side_by_side = x.contiguous(memory_format=torch.channels_last)
    normed: Tensor = module("group_norm").group_norm(side_by_side, groups, gain, shift, eps, activation)
    return normed


def _call(case: Case) -> Call:
    refuse_float64(case)
    groups, size = case.integer("groups", 1, 3), case.choice("size", (2, 3, 8, 33))
    sides = case.integer("height", 2, 9), case.integer("width", 2, 9)
    settings = {"groups": groups, "eps": case.real("eps", 0.01, 1), "activation": case.choice("bend", (None, "silu"))}
    x = case.tensor("x", case.integer("batch", 1, 2), groups * size, *sides)
    gain, shift = (case.tensor(name, groups * size) for name in ("gain", "shift"))
    return Call(case.build(**settings), (x, gain, shift), options=settings)


def _apart(
    x: scratch.Tensor, gain: Any, shift: Any, *, groups: int, eps: float, activation: str | None
) -> scratch.Tensor:
    z = normalisation.group_norm(x, groups, gain, shift, eps)
    return silu(z) if activation == "silu" else z


conform(KERNEL, _call, twin=normalisation.group_norm, twin_call=_apart)
