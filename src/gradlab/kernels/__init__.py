"""Kernels in Triton for what PyTorch has no single operation for; each has a plain form in PyTorch beside it.

Nothing here is imported before a device needs it, and machines without Triton never do.
"""

import os
import shutil
from functools import cache
from importlib.util import find_spec

import torch


def run_on(device: torch.device) -> bool:
    """Whether kernels run there: on a GPU, or anywhere in Triton's interpreter."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        return find_spec("triton") is not None
    return device.type == "cuda" and _can_compile()


@cache
def _can_compile() -> bool:
    """Whether there is Triton, and the C compiler with which it makes what launches its kernels."""
    compilers = (os.environ.get("CC"), "gcc", "clang")
    return find_spec("triton") is not None and any(map(shutil.which, filter(None, compilers)))
