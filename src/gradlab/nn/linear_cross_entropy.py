"""The cross-entropy of a linear map's outputs, without ever having all of them in memory."""

from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.autograd.function import once_differentiable

from gradlab.kernels import run_on
from gradlab.nn.products import wide_product

# Logits that are in memory at once, 2 GiB in bf16. On an H200, loss and gradients of GPT-2 (32,768 tokens) take 13.7 ms
# with 2^30 and 2^31, 15.0 with 2^29, 16.7 with 2^27.
_LOGITS = 2**30
_COLUMNS = 64  # the vocabulary is padded to a multiple: products in bf16 whose rows begin at odd places are slower
IGNORED = -100  # as in torch's cross_entropy: a target that costs nothing


def linear_cross_entropy(
    x: Float[Tensor, "rows d"], weight: Float[Tensor, "classes d"], targets: Int64[Tensor, " rows"]
) -> Float[Tensor, ""]:
    r"""The sum over rows of the cross-entropy of logits W x, with its gradients worked out a chunk of rows at a time.

    $$ \ell = \sum_i \log \sum_c e^{w_c^\top x_i} - w_{y_i}^\top x_i, \qquad
       \frac{\partial \ell}{\partial Z} = P - Y, \quad
       \frac{\partial \ell}{\partial X} = (P - Y) \, W, \quad \frac{\partial \ell}{\partial W} = (P - Y)^\top X $$

    P are the softmaxes of the logits Z, one row for each x, and Y the targets one-hot. Gradients are made in the
    forward pass, while a chunk of the logits is there: three products in all, as usual, and a chunk's memory instead of
    that of all logits. Under autocast the products are in its type; sums are in float32 at least. It can be
    differentiated once.

    >>> x, weight, targets = torch.randn(5, 3), torch.randn(7, 3), torch.tensor([0, 6, 2, 2, 1])
    >>> plain = torch.nn.functional.cross_entropy(x @ weight.T, targets, reduction="sum")
    >>> torch.allclose(linear_cross_entropy(x, weight, targets), plain)
    True
    """
    total: Tensor = _LinearCrossEntropy.apply(x, weight, targets)  # type: ignore[no-untyped-call]
    return total


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        device = x.device.type
        kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        sums = torch.promote_types(kind, torch.float32)
        classes, d = weight.shape
        for_x, for_weight, _ = ctx.needs_input_grad
        with torch.autocast(device, enabled=False):
            rows = x.to(kind)
            table = rows.new_zeros(-(-classes // _COLUMNS) * _COLUMNS, d)
            table[:classes] = weight
            x_slope = torch.empty_like(rows) if for_x else None
            weight_slope: Tensor | None = None
            losses = []
            for chunk in _chunks(len(rows), len(table)):
                part = rows[chunk]
                logits = part @ table.T
                losses.append(_surprise(logits, targets[chunk], classes, sums))  # the logits are P - Y from here on
                if x_slope is not None:
                    torch.mm(logits, table, out=x_slope[chunk])
                if for_weight:
                    product = wide_product(logits.T, part, sums)
                    weight_slope = product if weight_slope is None else weight_slope.add_(product)
                del logits
            ctx.save_for_backward(x_slope, None if weight_slope is None else weight_slope[:classes])
            ctx.kinds = x.dtype, weight.dtype
            return torch.cat(losses).sum() if losses else rows.new_zeros((), dtype=sums)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        scaled = [
            None if saved is None else saved.to(kind) * slope
            for saved, kind in zip(ctx.saved_tensors, ctx.kinds, strict=True)
        ]
        return scaled[0], scaled[1], None


def _chunks(rows: int, columns: int) -> list[slice]:
    """Powers of two, by which matrix products are cut evenly."""
    size = 1 << max(0, (_LOGITS // columns).bit_length() - 1)
    return [slice(start, start + size) for start in range(0, rows, size)]


def _surprise(logits: Tensor, targets: Tensor, classes: int, sums: torch.dtype) -> Tensor:
    """The loss of each row. The logits become their gradient, P - Y; columns beyond the classes become 0."""
    if logits.is_cuda and sums == torch.float32 and run_on(logits.device):
        from gradlab.kernels.cross_entropy import surprise

        return surprise(logits, targets, classes)
    ignored, rows = targets == IGNORED, torch.arange(len(targets), device=targets.device)
    known, index = logits[:, :classes].to(sums), targets.masked_fill(ignored, 0)
    whole = known.logsumexp(1)
    losses = (whole - known[rows, index]).masked_fill(ignored, 0.0)
    slopes = (known - whole[:, None]).exp_()
    slopes[rows, index] -= 1
    slopes.masked_fill_(ignored[:, None], 0.0)
    logits[:, :classes] = slopes
    logits[:, classes:] = 0.0
    return losses
