"""The device that a benchmark runs on: its name, versions, how fast it copies and multiplies. It imports no torch."""

import time
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from gradlab.version import __version__

if TYPE_CHECKING:
    import torch


def device_name(device: "torch.device") -> str:
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def wait(device: "torch.device") -> None:
    """Until all that was asked of the device is done."""
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)


def copied_bytes_per_second(device: "torch.device", size: int = 2**28, times: int = 20) -> float:
    """Read and written."""
    import torch

    here, there = (torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2))
    there.copy_(here)
    wait(device)
    began = time.perf_counter()
    for _ in range(times):
        there.copy_(here)
    wait(device)
    return 2 * size * times / (time.perf_counter() - began)


def product_flops_per_second(device: "torch.device", dtype: "torch.dtype", times: int = 10) -> float:
    """Of a large product of matrices."""
    import torch

    n = 8192 if device.type == "cuda" else 256
    a = torch.randn(n, n, device=device, dtype=dtype)
    a @ a
    wait(device)
    began = time.perf_counter()
    for _ in range(times):
        a @ a
    wait(device)
    return times * 2 * n**3 / (time.perf_counter() - began)


def versions(*more: str) -> str:
    """Of what takes part."""
    known = [f"gradlab {__version__}"]  # also of a checkout that is not installed
    for name in ("torch", "triton", "transformers", *more):
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            known.append(f"no {name}")
    return ", ".join(known)
