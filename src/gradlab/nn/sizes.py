"""The sizes of layers: which a constructor takes, and how many places a window has."""

from typing import Any

from gradlab.errors import GradlabError
from gradlab.nn.blocks import ShapeError


def at_least(least: int, layer: str, **sizes: Any) -> None:
    """Refuse what is no whole number, or too small a one."""
    for name, size in sizes.items():
        if not isinstance(size, int) or size < least:
            raise GradlabError(f"{layer}: {name} must be a whole number of at least {least}, got {size!r}.")


def for_each_axis(axes: int, least: int, layer: str, name: str, size: Any) -> tuple[int, ...]:
    """A setting as one number for each axis; a single one stands for all.

    >>> for_each_axis(2, 1, "conv.conv2d", "kernel_size", 3)
    (3, 3)
    """
    sizes = size if isinstance(size, tuple) else (size,) * axes
    if len(sizes) != axes or not all(isinstance(n, int) and n >= least for n in sizes):
        pair = ", or a pair of them" if axes == 2 else ""
        raise GradlabError(f"{layer}: {name} must be a whole number of at least {least}{pair}, got {size!r}.")
    return sizes


def output_size(n: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1) -> int:
    r"""How many places a kernel has along an axis of n entries.

    $$ \left\lfloor \frac{n + 2p - d (k - 1) - 1}{s} \right\rfloor + 1 $$

    p entries are added at *either* side, as in PyTorch; books that write p for the sum of both have p in place of 2p.

    >>> output_size(28, kernel_size=5), output_size(28, kernel_size=5, padding=2, stride=2)
    (24, 14)
    """
    reach = dilation * (kernel_size - 1) + 1
    if n + 2 * padding < reach:
        raise ShapeError(f"A kernel that reaches over {reach} entries does not fit into {n} with padding {padding}.")
    return (n + 2 * padding - reach) // stride + 1
