"""How kernels are called: those that have no backward pass take part with their outputs alone."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import torch

from gradlab import scratch
from gradlab.kernels import run_on
from gradlab.verification.case import Case
from gradlab.verification.checks import conform as any_conform
from gradlab.verification.place import KERNEL_ROUNDINGS
from gradlab.verification.subject import Incomparable

conform = partial(any_conform, roundings=KERNEL_ROUNDINGS)
LENGTHS = (1, 63, 65, 1000)
"""Beside the sizes of tiles, and far beyond them."""
MANY = 16
"""Cases: some of them are large, and a GPU compiles for several of them."""


def module(name: str) -> Any:
    """One of `kernels`, when a case wants it: with the first of them Triton is loaded."""
    return import_module(f"gradlab.kernels.{name}")


def refuse_float64(case: Case) -> None:
    """Kernels sum in float32. Their forms in PyTorch are also for float64."""
    if case.place.is_exact and run_on(torch.device(case.place.device)):
        raise Incomparable("the kernel sums in float32: choose float32, bfloat16 or float16")


def on_tensors(twin: Callable[..., Any]) -> Callable[..., Any]:
    """The twin, given tensors of the engine for arrays of numbers, as which inputs without a gradient come."""

    def call(*arguments: Any, **options: Any) -> Any:
        numbers = [isinstance(x, np.ndarray) and x.dtype.kind == "f" for x in arguments]
        lifted = [scratch.Tensor(x) if is_number else x for x, is_number in zip(arguments, numbers, strict=True)]
        return twin(*lifted, **options)

    return call
