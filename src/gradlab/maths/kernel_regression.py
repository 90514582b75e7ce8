"""Nadaraya and Watson's regression, and the width of its kernel by leaving each example out once."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor
from gradlab.nn.attention.pooling import Kernel, kernels

_WIDTHS = 40  # that are tried, evenly spread by their logarithms
_PAIRS = 2**23  # numbers of the differences that are held at once


@takes_arrays
def nadaraya_watson(
    queries: Float[Tensor, "n d"],
    x: Float[Tensor, "m d"],
    y: Float[Tensor, "m *target"],
    kernel: Kernel = "gaussian",
    width: float = 1.0,
) -> Float[Tensor, "n *target"]:
    r"""The mean of the known targets, weighted by how near their examples are.

    $$ f(q) = \frac{\sum_i \alpha(q, x_i) \, y_i}{\sum_i \alpha(q, x_i)} $$

    It is attention: the examples are keys and the targets values. Where a bounded kernel reaches no example, the answer
    is the mean of all targets.

    >>> x, y = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([0.0, 10.0, 20.0])
    >>> nadaraya_watson(torch.tensor([[0.5], [9.0]]), x, y, "boxcar", 0.6)
    tensor([ 5., 10.])
    """
    queries, x, y = tensor(queries), tensor(x), tensor(y)
    flat = _targets(x, y)
    weights = kernels[_known(kernel)](_positive(width)).weights(queries, x)
    means = weights @ flat + (1 - weights.sum(-1, keepdim=True)) * flat.mean(0)
    return means.reshape(len(queries), *y.shape[1:])


@takes_arrays
def leave_one_out_error(
    x: Float[Tensor, "m d"], y: Float[Tensor, "m *target"], kernel: Kernel = "gaussian", width: float = 1.0
) -> Float[Tensor, ""]:
    r"""The mean squared error of each example's prediction by all the others.

    $$ \mathrm{CV}(w) = \frac{1}{m} \sum_{i=1}^{m} \left( y_i - f_{-i}(x_i) \right)^2 $$

    Predicted by themselves too, examples would be met best by a width of 0, which has learned nothing.

    >>> x = torch.tensor([[0.0], [1.0], [2.0]])
    >>> leave_one_out_error(x, torch.tensor([0.0, 1.0, 5.0]), "boxcar", 1.0)
    tensor(6.4167)
    """
    x, y = tensor(x), tensor(y)
    flat, attention = _targets(x, y), kernels[_known(kernel)](_positive(width))
    if len(x) < 2:
        raise GradlabError("To leave one example out needs two at least, got 1.")
    mean_of_others = (flat.sum(0) - flat) / (len(flat) - 1)
    total = torch.zeros((), dtype=flat.dtype)
    for rows in torch.split(torch.arange(len(x)), max(1, _PAIRS // x.numel())):
        others = rows[:, None] != torch.arange(len(x))
        weights = attention.weights(x[rows], x, others)
        predicted = weights @ flat + (1 - weights.sum(-1, keepdim=True)) * mean_of_others[rows]
        total = total + (flat[rows] - predicted).square().sum()
    return total / flat.numel()


def best_width(
    x: Float[Tensor, "m d"],
    y: Float[Tensor, "m *target"],
    kernel: Kernel = "gaussian",
    widths: Sequence[float] | None = None,
) -> float:
    """The width with the least error when each example is left out once.

    Tried are `widths`, or else 40 from a tenth of the mean distance to the nearest example up to the whole extent.

    >>> x = torch.linspace(0, 6, 50)[:, None]
    >>> best_width(x, x.sin().squeeze(1) + 0.3 * (17 * x.square()).sin().squeeze(1), widths=[0.01, 0.3, 10])
    0.3
    """
    x, y = tensor(x), tensor(y)
    tried = _spread(x) if widths is None else [_positive(width) for width in widths]
    if not tried:
        raise GradlabError("best_width needs a width to try, and `widths` is empty.")
    return min(tried, key=lambda width: float(leave_one_out_error(x, y, kernel, width)))


def _spread(x: Tensor) -> list[float]:
    nearest = 0.0
    for rows in torch.split(torch.arange(len(x)), max(1, _PAIRS // x.numel())):
        distances = torch.cdist(x[rows], x)
        nearest += float(distances.masked_fill(distances == 0, torch.inf).amin(1).nan_to_num(posinf=0.0).sum())
    extent = float((x.amax(0) - x.amin(0)).norm())
    if not extent:
        raise GradlabError("All examples are at the same place, where no width is better than another.")
    low = max(0.1 * nearest / len(x), 1e-3 * extent / len(x))
    return [float(width) for width in torch.logspace(0, 1, _WIDTHS, base=extent / low, dtype=torch.float64) * low]


def _targets(x: Tensor, y: Tensor) -> Float[Tensor, "m numbers"]:
    if x.ndim != 2 or not len(x) or y.ndim < 1 or len(y) != len(x):
        raise GradlabError(
            f"Examples have one row each, and so have targets: got shapes {tuple(x.shape)} and {tuple(y.shape)}."
        )
    return y.reshape(len(y), -1)


def _known(kernel: Kernel) -> Kernel:
    if kernel not in kernels:
        raise GradlabError(f"There is no kernel {kernel!r}. There are: {', '.join(kernels)}.")
    return kernel


def _positive(width: float) -> float:
    if not 0 < width < float("inf"):
        raise GradlabError(f"The width of a kernel is a number above 0, got {width}.")
    return float(width)
