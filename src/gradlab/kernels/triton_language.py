"""Triton where it is installed. Kernels can be read and imported without it; only to run them needs it."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

_here = find_spec("triton") is not None
triton: Any = import_module("triton") if _here else None
tl: Any = import_module("triton.language") if _here else None


def jit(**options: Any) -> Any:
    """`triton.jit`, or the function as it is."""
    return triton.jit(**options) if _here else lambda kernel: kernel
