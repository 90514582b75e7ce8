"""Products of matrices in numbers of 8 bits: what `train.precision=fp8` puts in the place of large linear maps."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
_MULTIPLE = 16  # what a device wants of every size
# To find the largest entry and to round costs some bytes for each entry, and the product spares half its operations.
# Below these sizes that is a loss for certain; on an H200 it still is one at 2,048 by 2,048.
_WEIGHTS, _ROWS = 2**20, 2**10
_TINY = 1e-30  # in the place of a largest entry of 0


class Float8Products(TorchFunctionMode):
    """While it is entered, `F.linear` of large matrices is `float8_linear`: in every module, and in compiled ones."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is F.linear and _pays(*args, **kwargs):
            return float8_linear(*args, **kwargs)
        return func(*args, **kwargs)


def _pays(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> bool:
    rows = input.numel() // max(1, input.shape[-1])
    even = weight.ndim == 2 and not any(size % _MULTIPLE for size in (rows, *weight.shape))
    return even and rows >= _ROWS and weight.numel() >= _WEIGHTS and input.is_floating_point()


def float8_linear(
    input: Float[Tensor, "*batch d"], weight: Float[Tensor, "classes d"], bias: Float[Tensor, " classes"] | None = None
) -> Float[Tensor, "*batch classes"]:
    r"""W x + b in bf16, of entries that are rounded to 8 bits.

    $$ Y = s_X s_W \, \hat X \hat W^\top + b, \qquad \hat X = \mathrm{round}(X / s_X), \quad
       s_X = \frac{\max |X|}{448} $$

    Inputs and weights are rounded to 4 bits of exponent and 3 of mantissa, whose largest number is 448, the gradient of
    the outputs to 5 and 2, since its sizes differ more. The scales are those of the numbers at hand, so that nothing
    is remembered from step to step. The gradient of the weights is a product in bf16: it is what the optimiser sums,
    and both its sides would have to be transposed in memory first. It can be differentiated once.

    >>> x, weight = torch.randn(32, 16), torch.randn(48, 16)
    >>> error = float8_linear(x, weight) - x @ weight.T
    >>> bool(error.norm() < 0.06 * (x @ weight.T).norm())
    True
    """
    y: Tensor = _Float8Linear.apply(input.flatten(0, -2), weight, bias)  # type: ignore[no-untyped-call]
    return y.view(*input.shape[:-1], len(weight))


class _Float8Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rounded, scale = _rounded(x, E4M3)
        weights, weight_scale = _rounded(weight, E4M3)
        ctx.save_for_backward(x.to(torch.bfloat16), weights, weight_scale)
        ctx.kinds = x.dtype, weight.dtype, None if bias is None else bias.dtype
        added = None if bias is None else bias.to(torch.bfloat16)
        y: Tensor = _product(rounded, weights.t(), scale, weight_scale, added, fast=True)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weights, weight_scale = ctx.saved_tensors
        kind, weight_kind, bias_kind = ctx.kinds
        for_x, for_weight, for_bias = ctx.needs_input_grad
        x_slope = weight_slope = bias_slope = None
        if for_x:
            rounded, scale = _rounded(slope, E5M2)
            columns = weights.t().contiguous().t()
            x_slope = _product(rounded, columns, scale, weight_scale, None, fast=False).to(kind)
        if for_weight:
            weight_slope = (slope.to(x.dtype).t() @ x).to(weight_kind)
        if for_bias:
            bias_slope = slope.sum(0, dtype=bias_kind)
        return x_slope, weight_slope, bias_slope


def _rounded(x: Tensor, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """x divided by its scale, in 8 bits, and the scale. If an entry is not finite, so is the product."""
    largest = torch.linalg.vector_norm(x, torch.inf, dtype=torch.float32).clamp(min=_TINY)
    scale = largest.view(1) / torch.finfo(kind).max  # with an axis, so that the quotient of numbers in bf16 is not
    return (x / scale).to(kind).contiguous(), scale


# An operator, so that the compiler calls it as it is: among kernels of its own it would choose by the clock.
@torch.library.custom_op("gradlab::float8_product", mutates_args=())
def _product(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None, fast: bool) -> Tensor:
    """s t A B + b in bf16. B lies in memory by columns; `fast` keeps fewer bits of sums."""
    if a.is_cuda:
        return torch._scaled_mm(a, b, scale_a, scale_b, bias, out_dtype=torch.bfloat16, use_fast_accum=fast)
    product = (a.float() @ b.float()) * (scale_a * scale_b)
    return (product if bias is None else product + bias).to(torch.bfloat16)


@_product.register_fake
def _(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None, fast: bool) -> Tensor:
    return a.new_empty(len(a), b.shape[1], dtype=torch.bfloat16)
