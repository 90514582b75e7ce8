"""A linear map and the cross-entropy of its outputs in one, whose rows a kernel turns into their gradients."""

from typing import Any

import numpy as np

from gradlab import scratch
from gradlab.nn.linear_cross_entropy import IGNORED, linear_cross_entropy
from gradlab.scratch.losses import soft_cross_entropy
from gradlab.verification.case import Case
from gradlab.verification.checks import Call
from gradlab.verification.families.kernels.calling import LENGTHS, conform, refuse_float64
from gradlab.verification.subject import subject

KERNEL = "kernel.linear_cross_entropy"

subject(KERNEL)(linear_cross_entropy)


def _call(case: Case) -> Call:
    refuse_float64(case)
    rows, d, classes = (
        case.integer("rows", 1, 70),
        case.integer("dim", 1, 20),
        case.choice("classes", (2, *LENGTHS[1:])),
    )
    target = case.indices("target", rows, below=classes)
    if case.flag("some ignored"):
        target = target.masked_fill(~case.mask("asked", rows), IGNORED)
    x, weight = case.tensor("x", rows, d), case.tensor("weight", classes, d, scale=d**-0.5)
    return Call(case.build(), (x, weight, target))


def _apart(x: scratch.Tensor, weight: scratch.Tensor, target: Any) -> scratch.Tensor:
    """The logits first, then their loss; a target that is ignored has no class."""
    one_hot = np.eye(len(weight))[np.maximum(target, 0)] * (target != IGNORED)[:, None]
    return soft_cross_entropy(x @ weight.T, one_hot, reduction="sum")


conform(KERNEL, _call, twin=soft_cross_entropy, twin_call=_apart)
