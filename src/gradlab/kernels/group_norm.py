"""Group normalisation, and the SiLU behind it, as a plain function: by kernels on a GPU, by PyTorch elsewhere.

PyTorch's own on a GPU brings its input into the order of channels before places and, under autocast, into float32, so
that every convolution behind it has to bring both back. The kernels leave them as they are.
"""

from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from gradlab.kernels import compile_for, run_on

Activation = Literal["silu"] | None

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
_TILE, _OF_THREAD = 4096, 8  # numbers at once of a program, and of one of its threads
_ROW = 64  # bytes of a place, at least, that a program reads: memory gives no fewer at a time
_PROGRAMS = 128  # below so many the chip is not filled, and programs have fewer groups


def group_norm(
    x: Float[Tensor, "batch channels *places"],
    groups: int,
    weight: Float[Tensor, " channels"] | None,
    bias: Float[Tensor, " channels"] | None,
    eps: float,
    activation: Activation = None,
    offset: Float[Tensor, "batch channels"] | None = None,
) -> Float[Tensor, "batch channels *places"]:
    r"""Each group of channels of an example is centred and scaled by itself; then a gain, a shift, and an activation.

    $$ z_c = \gamma_c \, \frac{x_c + a_c - \mu_g}{\sqrt{\sigma_g^2 + \varepsilon}} + \beta_c, \qquad
       y = z \;\text{ or }\; z \, \sigma(z) $$

    a is `offset`, which is added to all places of a channel before; μ and σ are of the sum.

    The kernels are for pictures whose channels lie side by side in memory (`torch.channels_last`). They compute in
    float32; the output has the type of x, or under autocast the one that products have there.

    >>> x = torch.tensor([[[[1.0]], [[3.0]]]])
    >>> group_norm(x, 1, None, None, 0.0).flatten().tolist()
    [-1.0, 1.0]
    >>> group_norm(x, 1, None, None, 0.0, "silu").flatten()
    tensor([-0.2689,  0.7311])
    """
    if not takes(x, groups, weight, bias, offset):
        return plain_group_norm(x, groups, weight, bias, eps, activation, offset)
    if torch.is_grad_enabled():
        _compile(x, groups, weight, bias, eps, activation, offset)
    y: Tensor = _GroupNorm.apply(x, groups, weight, bias, eps, activation, offset)  # type: ignore[no-untyped-call]
    return y


def plain_group_norm(
    x: Tensor,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    activation: Activation = None,
    offset: Tensor | None = None,
) -> Tensor:
    """`group_norm` in PyTorch's operations."""
    if offset is not None:
        x = x + offset.reshape(*offset.shape, *[1] * (x.ndim - 2))
    # Not F.group_norm, which refuses one number to a group in a batch of one, though not in a larger batch.
    y = torch.group_norm(x, groups, weight, bias, eps)
    return F.silu(y) if activation == "silu" else y


def takes(x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, offset: Tensor | None = None) -> bool:
    """Whether the kernels are for such tensors. A compiler makes kernels of its own, and torch.func has other rules."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return False
    affine = [each for each in (weight, bias) if each is not None]
    beside = affine if offset is None else [*affine, offset]
    return (
        x.ndim == 4
        and not x.is_meta
        and run_on(x.device)
        and x.is_contiguous(memory_format=torch.channels_last)
        and all(each.dtype in _DTYPES and each.device == x.device for each in (x, *beside))
        and all(each.is_contiguous() for each in affine)
        and (offset is None or offset.stride(1) == 1)
        and x.shape[1] % groups == 0
        and x.shape[1] // groups <= _TILE
        and 0 < x.numel() < len(x) * 2**31
    )


class _GroupNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        groups: int,
        weight: Tensor | None,
        bias: Tensor | None,
        eps: float,
        activation: Activation,
        offset: Tensor | None,
    ) -> Tensor:
        y, moments = _forward(x, groups, weight, bias, eps, activation, offset)
        ctx.save_for_backward(x, weight, bias, offset, moments)
        ctx.settings = groups, eps, activation
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, offset, moments = ctx.saved_tensors
        groups, eps, activation = ctx.settings
        if torch.is_grad_enabled():  # the gradient itself is to be differentiated
            dx, dgain, dshift, doffset = _differentiable(dy, x, groups, weight, bias, eps, activation, offset)
        else:
            dx, dgain, dshift, doffset = _backward(dy, x, groups, weight, bias, moments, activation, offset)
        return dx, None, dgain, dshift, None, None, doffset


def _forward(
    x: Tensor,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    activation: Activation,
    offset: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """y, and the means and scales of all groups."""
    y = torch.empty_like(x, dtype=_dtype(x), memory_format=torch.channels_last)
    moments = x.new_empty(2, len(x), groups, dtype=torch.float32)
    grid, constants = sizes_of(x.shape, groups, x.element_size(), activation)
    places = x.shape[2] * x.shape[3]
    _kernels().forward(grid, x, offset, _row(offset), weight, bias, y, moments, places, eps, constants=constants)
    return y, moments


def _backward(
    dy: Tensor,
    x: Tensor,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    moments: Tensor,
    activation: Activation,
    offset: Tensor | None,
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of x, weight, bias and offset."""
    dy = dy.contiguous(memory_format=torch.channels_last)
    dx = torch.empty_like(x, memory_format=torch.channels_last)
    examples, channels, height, width = x.shape
    parts = x.new_empty(2 if offset is None else 3, examples, channels, dtype=torch.float32)
    grid, constants = sizes_of(x.shape, groups, x.element_size(), activation)
    places, row = height * width, _row(offset)
    _kernels().backward(grid, x, offset, row, dy, weight, bias, moments, dx, parts, places, constants=constants)
    doffset = None if offset is None else parts[2].to(offset.dtype)
    if weight is None and bias is None:
        return dx, None, None, doffset
    dgain, dshift = parts[:2].sum(1)
    gains = None if weight is None else dgain.to(weight.dtype), None if bias is None else dshift.to(bias.dtype)
    return dx, *gains, doffset


def _row(offset: Tensor | None) -> int:
    """From the numbers of one example to those of the next."""
    return 0 if offset is None else offset.stride(0)


def _dtype(x: Tensor) -> torch.dtype:
    """That of the output."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


_compiled: set[tuple[Any, ...]] = set()


def _compile(
    x: Tensor,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    activation: Activation,
    offset: Tensor | None,
) -> None:
    """Both kernels side by side, which would else be compiled one after the other, when each is first wanted."""
    from gradlab.kernels.triton_language import collected

    if not x.is_cuda or torch.cuda.is_current_stream_capturing() or collected() is not None:
        return
    constants = sizes_of(x.shape, groups, x.element_size(), activation)[1]
    kind = x.device, x.dtype, _dtype(x), constants, weight is None, bias is None, offset is None
    if kind in _compiled:
        return
    _compiled.add(kind)

    def both() -> None:
        y, moments = _forward(x, groups, weight, bias, eps, activation, offset)
        _backward(y, x, groups, weight, bias, moments, activation, offset)

    compile_for(both, x.device)


def _differentiable(
    dy: Tensor,
    x: Tensor,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    activation: Activation,
    offset: Tensor | None,
) -> list[Tensor | None]:
    """The same by PyTorch's operations, through which gradients pass again."""
    inputs = [x, weight, bias, offset]
    wanted = [each for each in inputs if each is not None and each.requires_grad]
    with torch.autocast(x.device.type, enabled=False):
        wide = [None if each is None else each.float() for each in inputs]
        y = plain_group_norm(wide[0], groups, wide[1], wide[2], eps, activation, wide[3])  # type: ignore[arg-type]
        gradients = iter(torch.autograd.grad(y, wanted, dy.to(y.dtype), create_graph=True))
    return [next(gradients) if each is not None and each.requires_grad else None for each in inputs]


@lru_cache(maxsize=256)
def sizes_of(shape: torch.Size, groups: int, itemsize: int, activation: Activation) -> tuple[tuple[int, int, int], Any]:
    """The programs, and what they are compiled for: by sizes alone, so that the same call does the same each time."""
    examples, channels, places = shape[0], shape[1], shape[2] * shape[3]
    size = channels // groups
    together = min(_power(-(-_ROW // (size * itemsize))), _power(groups))
    while together > 1 and examples * -(-groups // together) < _PROGRAMS:
        together //= 2
    tile_places = max(1, min(_power(places), _TILE // (together * _power(size))))
    constants = _constants(channels, groups, activation, tile_places, together)
    return (examples, -(-groups // together), 1), constants


@lru_cache(maxsize=256)
def _constants(channels: int, groups: int, activation: Activation, tile_places: int, together: int) -> Any:
    from gradlab.kernels.launching import Constants

    padded = _power(channels // groups)
    threads = tile_places * together * padded // _OF_THREAD
    return Constants(
        CHANNELS=channels,
        GROUPS=groups,
        SIZE=channels // groups,
        SILU=activation == "silu",
        P=tile_places,
        G=together,
        K=padded,
        num_warps=max(1, threads // 32),
    )


def _power(size: int) -> int:
    """The power of two that is not smaller."""
    return 1 << (size - 1).bit_length()


@cache
def _kernels() -> SimpleNamespace:
    """Those of Triton, which is loaded when the first is wanted."""
    from gradlab.kernels import group_norm_triton as triton
    from gradlab.kernels.launching import Kernel

    return SimpleNamespace(forward=Kernel(triton.forward), backward=Kernel(triton.backward))
