"""The sizes of layers: which a constructor takes, and how many places a window has."""

from typing import Annotated, Any

from annotated_types import Ge

from gradlab.nn.blocks import ShapeError
from gradlab.registry import Knob


def at_least(least: int, layer: str, **sizes: Any) -> None:
    """Refuse what is no whole number, or too small a one."""
    for name, size in sizes.items():
        Knob(name, Annotated[int, Ge(least)], Knob.empty).check(size, f"{layer}: {name}")


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
