"""Kernels in Triton for what PyTorch has no single operation for; each has a plain form in PyTorch beside it.

Nothing here is imported before a device needs it, and machines without Triton never do.
"""

import os
from importlib.util import find_spec

import torch


def run_on(device: torch.device) -> bool:
    """Whether kernels run there: on a GPU, or anywhere in Triton's interpreter."""
    here = device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    return here and find_spec("triton") is not None
