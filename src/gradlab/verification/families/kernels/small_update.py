"""Adam's update of a small model."""

from typing import Any

import torch
from torch import Tensor

from gradlab.kernels import run_on
from gradlab.verification.case import Case
from gradlab.verification.checks import Call
from gradlab.verification.families.kernels.calling import conform, refuse_float64
from gradlab.verification.subject import Incomparable, subject

KERNEL = "kernel.small_update"
STEPS, RATE, DECAY = 3, 0.01, 0.1


@subject(KERNEL)
def small_update(*gradients: Tensor, apart: bool, clip: float | None) -> tuple[Tensor, ...]:
    """Parameters that began at 1, after some steps with ever smaller gradients."""
    from gradlab.kernels.small_update import AdamUpdate

    values, means, squares = ([torch.full_like(g, start) for g in gradients] for start in (1.0, 0.0, 0.0))
    update = AdamUpdate(values, means, squares, [DECAY] * len(values), [1.0] * len(values))
    rate, step, bad = torch.tensor(RATE), torch.zeros(()), torch.zeros(())
    for i in range(STEPS):
        now = [g / (i + 1) for g in gradients]
        update(now, rate, step, bad, clip=clip, apart=apart, beta1=0.9, beta2=0.999, eps=1e-8)
    return tuple(values)


def _call(case: Case) -> Call:
    if not run_on(torch.device(case.place.device)):
        raise Incomparable("it has a kernel alone, and none can run here")
    refuse_float64(case)
    if case.place.dtype != torch.float32:
        raise Incomparable("the kernel is for parameters in float32")
    settings = {"apart": case.flag("apart"), "clip": case.choice("clip", (None, 0.5))}
    sizes = [case.choice(f"size {i}", (1, 1023, 1025, 5000)) for i in range(case.integer("parameters", 1, 3))]
    # None near 0: Adam divides a gradient by its size, which for one of 0 is ε.
    gradients = [case.positive(f"gradient {i}", size).detach() for i, size in enumerate(sizes)]
    return Call(case.build(**settings), gradients, options=settings)


def _by_torch(*gradients: Any, apart: bool, clip: float | None) -> tuple[Any, ...]:
    with torch.device("cpu"):
        slopes = [torch.as_tensor(g) for g in gradients]
        values = [torch.ones_like(g).requires_grad_() for g in slopes]
        rule = (torch.optim.AdamW if apart else torch.optim.Adam)(values, lr=RATE, weight_decay=DECAY)
        for i in range(STEPS):
            for value, slope in zip(values, slopes, strict=True):
                value.grad = slope / (i + 1)
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(values, clip)
            rule.step()
        return tuple(value.detach().numpy() for value in values)


conform(KERNEL, _call, twin=torch.optim.Adam, twin_call=_by_torch)
