"""Kernels in Triton for what PyTorch has no single operation for; each has a plain form in PyTorch beside it.

Nothing here is imported before a device needs it, and machines without Triton never do.
"""

import os
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec

import torch


def run_on(device: torch.device) -> bool:
    """Whether kernels run there: on a GPU, or anywhere in Triton's interpreter."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        return find_spec("triton") is not None
    return device.type == "cuda" and _can_compile()


def prepare() -> None:
    """Begin to load what compiles kernels, beside what else is done until they are needed."""
    if _can_compile():
        _compiler()


def compile_for(step: Callable[[], object], device: torch.device) -> None:
    """Compile all kernels of a function side by side. It is done once without them, whatever that gives."""
    if not _can_compile():
        return
    _compiler().result()
    from gradlab.kernels.triton_language import collecting, compile_at_once

    with collecting() as launches:
        step()
    compile_at_once(launches, device)


@cache
def _compiler() -> Future[None]:
    """Loads what compiles kernels, in a thread: half a second at least, of which Python waits most."""

    def load() -> None:
        from gradlab.kernels.triton_language import load_compiler

        load_compiler()

    thread = ThreadPoolExecutor(1)
    loading = thread.submit(load)
    thread.shutdown(wait=False)
    return loading


@cache
def _can_compile() -> bool:
    """Whether there is Triton, and the C compiler with which it makes what launches its kernels."""
    compilers = (os.environ.get("CC"), "gcc", "clang")
    return find_spec("triton") is not None and any(map(shutil.which, filter(None, compilers)))
