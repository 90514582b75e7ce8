"""Kernels of Triton that are launched many times with arguments of the same kind."""

from functools import partial
from typing import Any

from torch import Tensor

from gradlab.kernels.triton_language import collected


class Constants(dict[str, Any]):
    """What a kernel is compiled for: made once for each kind of call, and equal to nothing but itself."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


class Kernel:
    """A kernel that is looked up by what it is compiled for.

    Triton looks at the names and values of all arguments at each launch, which takes some 100 µs for forty of them:
    longer than most kernels. Of the arguments only what compiling depends on is looked at here.
    """

    def __init__(self, function: Any):
        self.function = function
        self.compiled: dict[Any, tuple[Any, list[Any]]] = {}

    def __call__(self, grid: tuple[int, int, int], *arguments: Any, constants: Constants) -> None:
        key = constants, *map(_kind, arguments)
        known = self.compiled.get(key)
        if known is not None:
            kernel, last = known
            kernel[grid](*arguments, *last)
            return
        launches = collected()
        if launches is not None:
            launches[self, key] = partial(self.function[grid], *arguments, **constants)
            return
        kernel = self.function[grid](*arguments, **constants)
        if kernel is not None:  # as in Triton's interpreter
            last = [constants[name] for name in self.function.arg_names[len(arguments) :]]
            self.compiled[key] = kernel, last


def _kind(argument: Any) -> Any:
    """What Triton compiles for: whether a number is 1, a multiple of 16, or large; whether memory is aligned."""
    if isinstance(argument, Tensor):
        return argument.data_ptr() % 16, argument.dtype, argument.device
    if isinstance(argument, int):
        return argument == 1, argument & 15 == 0, argument > 0x7FFFFFFF
    return argument
