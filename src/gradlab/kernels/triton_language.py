"""Triton where it is installed. Kernels can be read and imported without it; only to run them needs it."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import torch
from torch import Tensor

_here = find_spec("triton") is not None
triton: Any = import_module("triton") if _here else None
tl: Any = import_module("triton.language") if _here else None

Launches: TypeAlias = dict[tuple[Any, ...], partial[None]]
_collected: ContextVar[Launches | None] = ContextVar("collected", default=None)
"""Of this thread: others go on launching."""
_compiled: set[tuple[torch.device, tuple[Any, ...]]] = set()


def jit(**options: Any) -> Any:
    """`triton.jit`, or the function as it is."""
    return triton.jit(**options) if _here else lambda kernel: kernel


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Launch a kernel that has a constant EARLY: whether it may begin before the kernel before it has ended."""
    early = _may_overlap()
    # An option that older versions do not know.
    start(kernel, grid, *arguments, **constants, EARLY=early, **({"launch_pdl": True} if early else {}))


def start(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Launch a kernel, or keep the launch where they are collected."""
    call = partial(kernel[grid], *arguments, **constants)
    launches = collected()
    if launches is None:
        call()
    else:
        constants = {name: value for name, value in constants.items() if name.isupper()}
        launches[kernel, *map(_sort, arguments), *constants.items()] = call


def load_driver() -> None:
    """What launches kernels, which Triton lets the C compiler make once for a machine."""
    triton.runtime.driver.active.get_current_target()


def load_compiler() -> None:
    """What comes with the first kernel that a process compiles, the hash of the compiler above all: by one that does
    nothing. The device is named, so that the driver is not waited for."""
    major, minor = torch.cuda.get_device_capability()
    target = import_module("triton.backends.compiler").GPUTarget("cuda", 10 * major + minor, 32)
    triton.compile(triton.compiler.ASTSource(_nothing, {"x": "*fp32"}), target=target)


@jit()
def _nothing(x):
    tl.store(x, 0.0)


@contextmanager
def collecting() -> Iterator[Launches]:
    """Launches that are different programs are kept here, and nothing is launched: what they would write is not."""
    launches: Launches = {}
    before = _collected.set(launches)
    try:
        yield launches
    finally:
        _collected.reset(before)


def collected() -> Launches | None:
    """Those kept so far, where they are collected."""
    return _collected.get()


def compile_at_once(launches: Launches, device: torch.device) -> None:
    """Launch each new one once, side by side: compilers are other processes, or run without Python's lock."""
    new = {key: call for key, call in launches.items() if (device, key) not in _compiled}
    if not new:
        return

    def run(call: partial[None]) -> None:
        with torch.cuda.device(device):
            torch.zeros(1, device=device)  # a thread has no context of the device before it uses it
            call()

    with ThreadPoolExecutor(min(len(new), os.cpu_count() or 1)) as pool:
        list(pool.map(run, new.values()))
    torch.cuda.synchronize(device)
    _compiled.update((device, key) for key in new)


@cache
def _may_overlap() -> bool:
    """Whether the device and Triton have programmatic dependent launch."""
    if os.environ.get("TRITON_INTERPRET") == "1" or torch.version.cuda is None or not torch.cuda.is_available():
        return False
    return torch.cuda.get_device_capability() >= (9, 0) and hasattr(tl.extra.cuda, "gdc_wait")


def _sort(argument: Any) -> Any:
    """What Triton compiles a program of its own for."""
    if isinstance(argument, Tensor):
        return argument.dtype, argument.data_ptr() % 16 == 0
    return (argument == 1, argument % 16 == 0) if isinstance(argument, int) else type(argument)
