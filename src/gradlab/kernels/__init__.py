"""Kernels in Triton for what PyTorch has no single operation for; each has a plain form in PyTorch beside it.

Nothing here is imported before a device needs it, and machines without Triton never do.
"""

import os
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import torch


def run_on(device: torch.device) -> bool:
    """Whether kernels run there: on a GPU, or anywhere in Triton's interpreter."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        return find_spec("triton") is not None
    return device.type == "cuda" and _can_compile()


def prepare() -> None:
    """Begin to load what compiles and launches kernels, beside what else is done until they are needed."""
    if _can_compile():
        _loading()


def compile_for(step: Callable[[], object], device: torch.device) -> None:
    """Compile all kernels of a function side by side. It is done once without them, whatever that gives."""
    if not _can_compile():
        return
    loading = _loading()
    from gradlab.kernels.triton_language import collecting, compile_at_once

    with collecting() as launches:
        step()
    for part in loading:
        part.result()
    compile_at_once(launches, device)


@cache
def _loading() -> list[Future[None]]:
    """Both parts of Triton, side by side: half a second each, in which Python mostly waits."""

    def load(part: str) -> None:
        getattr(import_module("gradlab.kernels.triton_language"), part)()

    threads = ThreadPoolExecutor(2)
    loading = [threads.submit(load, part) for part in ("load_driver", "load_compiler")]
    threads.shutdown(wait=False)
    return loading


@cache
def _can_compile() -> bool:
    """Whether there is Triton, and the C compiler with which it makes what launches its kernels."""
    compilers = (os.environ.get("CC"), "gcc", "clang")
    return find_spec("triton") is not None and any(map(shutil.which, filter(None, compilers)))
