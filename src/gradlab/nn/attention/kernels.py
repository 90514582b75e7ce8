"""Which of PyTorch's fused attention kernels is tried first: by a table over devices and shapes, never by a clock."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.backends import cuda
from torch.nn.attention import SDPBackend, sdpa_kernel

# By the device's capability, the shortest length from which cuDNN is faster for training. On an H200, forward and
# backward of causal attention with 16 heads of 64 in bf16, 65,536 tokens: at length 1,024 cuDNN takes 2.0 ms and flash
# attention 3.1, at 4,096 it is 5.2 and 8.0, at 16,384 it is 17.9 and 27.4.
_CUDNN_FROM = {(9, 0): 512}
_CUDNN_HEAD = 128  # the largest size of a head for which that holds

# For each new shape cuDNN makes a plan, which takes as long as many calls: it is for trainings, whose shapes stay.
_LAST = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
_CUDNN_FIRST = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, *_LAST]
_FLASH_FIRST = [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, *_LAST]


def fused_kernels(queries: Tensor, training: bool) -> AbstractContextManager[object]:
    """The order in which kernels are tried; that of PyTorch on devices that are not in the table."""
    if not queries.is_cuda or queries.element_size() != 2:
        return nullcontext()
    shortest = _cudnn_from(queries.device.index)
    if shortest is None:
        return nullcontext()
    learns = training and torch.is_grad_enabled()
    cudnn = learns and queries.shape[-2] >= shortest and queries.shape[-1] <= _CUDNN_HEAD
    return sdpa_kernel(_CUDNN_FIRST if cudnn else _FLASH_FIRST, set_priority=True)


def _cudnn_from(device: int) -> int | None:
    """The table's row for a device; none where the user has switched kernels off, who then has chosen."""
    switches: list[Any] = [
        cuda.cudnn_sdp_enabled,
        cuda.flash_sdp_enabled,
        cuda.mem_efficient_sdp_enabled,
        cuda.math_sdp_enabled,
    ]
    return _CUDNN_FROM.get(torch.cuda.get_device_capability(device)) if all(on() for on in switches) else None


# As torch.compiler.assume_constant_result does, which imports the compiler: a second at start.
_cudnn_from._dynamo_marked_constant = True  # type: ignore[attr-defined]
