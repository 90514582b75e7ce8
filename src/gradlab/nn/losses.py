"""Losses: what a prediction costs. Each is a function of predictions and targets of one shape.

`reduction` says what becomes of the losses of the single entries: their "mean", their "sum", or "none", all of them.
The negative log-likelihood of the generalised linear models is here for each family: `gaussian_nll` and `squared`,
`binary_cross_entropy` for Bernoulli, `cross_entropy` for categorical, `poisson_nll` for counts.
"""

from math import log, pi
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.nn.blocks import ShapeError, block
from gradlab.registry import Positive, Probability

Reduction = Literal["mean", "sum", "none"]


@block("loss.squared", flops="O(n)", memory="O(n)")
def squared(
    prediction: Float[Tensor, "*shape"], target: Float[Tensor, "*shape"], *, reduction: Reduction = "mean"
) -> Float[Tensor, "..."]:
    r"""Half the square of the error.

    $$ \ell(\hat y, y) = \frac{1}{2} (\hat y - y)^2 $$

    The half makes its derivative the error itself, ŷ - y; so its mean is half of what is called the mean squared error,
    and half of what `torch.nn.MSELoss` gives. The best constant prediction is the mean of the targets.

    >>> squared(torch.tensor([1.0, 5.0]), torch.tensor([1.0, 2.0]), reduction="none").tolist()
    [0.0, 4.5]
    """
    _want_shape("loss.squared", target, prediction.shape)
    return _reduced(0.5 * F.mse_loss(prediction, target, reduction="none"), reduction)


@block("loss.absolute", flops="O(n)", memory="O(n)")
def absolute(
    prediction: Float[Tensor, "*shape"], target: Float[Tensor, "*shape"], *, reduction: Reduction = "mean"
) -> Float[Tensor, "..."]:
    r"""The size of the error.

    $$ \ell(\hat y, y) = | \hat y - y | $$

    A far outlier pulls no harder than a near one: the best constant prediction is the median of the targets. At an
    error of 0 the slope is taken to be 0.

    >>> absolute(torch.tensor([1.0, 5.0]), torch.tensor([1.0, 2.0]), reduction="none").tolist()
    [0.0, 3.0]
    """
    _want_shape("loss.absolute", target, prediction.shape)
    return _reduced(F.l1_loss(prediction, target, reduction="none"), reduction)


@block("loss.huber", flops="O(n)", memory="O(n)")
def huber(
    prediction: Float[Tensor, "*shape"],
    target: Float[Tensor, "*shape"],
    *,
    delta: Positive = 1.0,
    reduction: Reduction = "mean",
) -> Float[Tensor, "..."]:
    r"""Squared for small errors, absolute for large ones, joined without a kink.

    $$ \ell(\hat y, y) = \begin{cases} \frac{1}{2} e^2 & |e| \le \delta \\
       \delta \, (|e| - \frac{1}{2} \delta) & |e| > \delta \end{cases}
       \qquad e = \hat y - y $$

    δ is `delta`, the largest slope. Huber 1964, doi:10.1214/aoms/1177703732.

    >>> huber(torch.tensor([1.5, 5.0]), torch.tensor([1.0, 2.0]), reduction="none").tolist()
    [0.125, 2.5]
    """
    _want_shape("loss.huber", target, prediction.shape)
    return _reduced(F.huber_loss(prediction, target, reduction="none", delta=delta), reduction)


@block("loss.cross_entropy", flops="O(n·d)", memory="O(n·d)", letters="n examples and d classes")
def cross_entropy(
    logits: Float[Tensor, "*batch classes"],
    target: Int[Tensor, "*batch"] | Float[Tensor, "*batch classes"],
    mask: Bool[Tensor, "*batch"] | None = None,
    *,
    label_smoothing: Probability = 0.0,
    reduction: Reduction = "mean",
) -> Float[Tensor, "..."]:
    r"""The surprise at the true class, for classes given as whole numbers or as probabilities.

    $$ \ell(z, y) = - \sum_c y_c \log \mathrm{softmax}(z)_c = \log \sum_c e^{z_c} - \sum_c y_c z_c $$

    Its derivative by the logits z is softmax(z) - y. The classes are on the last axis, where torch.nn has them on axis
    1. With `label_smoothing` ε, the target is (1 - ε) y + ε/C. Where `mask` is false, an example takes no part: it
    costs 0, the mean is over the others, and its logits and target may be anything.

    >>> cross_entropy(torch.zeros(3, 10), torch.tensor([0, 7, 9]))
    tensor(2.3026)
    """
    soft = target.is_floating_point()
    _want_shape("loss.cross_entropy", target, logits.shape if soft else logits.shape[:-1])
    if mask is not None:
        _want_shape("loss.cross_entropy", mask, logits.shape[:-1], "mask")
        logits = torch.where(mask[..., None], logits, 0.0)
        target = torch.where(mask[..., None] if soft else mask, target, 0)

    log_probability = torch.log_softmax(logits, -1)
    if soft:  # a class that has no weight costs nothing, though its logit may be -inf
        losses = -(target * log_probability.masked_fill(target == 0, 0.0)).sum(-1)
    else:
        losses = -log_probability.gather(-1, target.long()[..., None]).squeeze(-1)
    if label_smoothing:
        losses = (1 - label_smoothing) * losses - label_smoothing * log_probability.mean(-1)

    if mask is None:
        return _reduced(losses, reduction)
    losses = torch.where(mask, losses, 0.0)
    return losses.sum() / mask.sum().clamp(min=1) if reduction == "mean" else _reduced(losses, reduction)


@block("loss.binary_cross_entropy", flops="O(n)", memory="O(n)")
def binary_cross_entropy(
    logits: Float[Tensor, "*shape"], target: Float[Tensor, "*shape"], *, reduction: Reduction = "mean"
) -> Float[Tensor, "..."]:
    r"""The surprise at one of two outcomes: the negative log-likelihood of a Bernoulli variable.

    $$ \ell(z, y) = - y \log p - (1 - y) \log (1 - p) = \log(1 + e^z) - y z, \qquad p = \sigma(z) $$

    Targets are 0 and 1, or probabilities between. Its derivative by the logit z is p - y. It is the cross-entropy of
    the two logits 0 and z.

    >>> binary_cross_entropy(torch.tensor([0.0, -5000.0]), torch.tensor([1.0, 1.0]), reduction="none")
    tensor([6.9315e-01, 5.0000e+03])
    """
    _want_shape("loss.binary_cross_entropy", target, logits.shape)
    return _reduced(F.binary_cross_entropy_with_logits(logits, target, reduction="none"), reduction)


@block("loss.hinge", flops="O(n)", memory="O(n)")
def hinge(
    score: Float[Tensor, "*shape"], target: Float[Tensor, "*shape"], *, reduction: Reduction = "mean"
) -> Float[Tensor, "..."]:
    r"""What a score lacks of the margin 1 on the side of its target.

    $$ \ell(f, y) = \max(0, 1 - y f), \qquad y \in \{-1, 1\} $$

    A score beyond the margin costs nothing and pulls at nothing: with an L2 penalty it makes the support vector
    machine. At the margin itself the slope is taken to be 0. Cortes & Vapnik 1995, doi:10.1007/BF00994018.

    >>> hinge(torch.tensor([3.0, 0.5, -1.0]), torch.tensor([1.0, 1.0, 1.0]), reduction="none").tolist()
    [0.0, 0.5, 2.0]
    """
    _want_shape("loss.hinge", target, score.shape)
    return _reduced(F.relu(1 - target * score), reduction)


@block("loss.squared_hinge", flops="O(n)", memory="O(n)")
def squared_hinge(
    score: Float[Tensor, "*shape"], target: Float[Tensor, "*shape"], *, reduction: Reduction = "mean"
) -> Float[Tensor, "..."]:
    r"""The square of the hinge loss, which has no kink.

    $$ \ell(f, y) = \max(0, 1 - y f)^2, \qquad y \in \{-1, 1\} $$

    Smooth enough for L-BFGS and Newton's method; an outlier pulls as hard as it is far off.

    >>> squared_hinge(torch.tensor([3.0, 0.5, -1.0]), torch.tensor([1.0, 1.0, 1.0]), reduction="none").tolist()
    [0.0, 0.25, 4.0]
    """
    _want_shape("loss.squared_hinge", target, score.shape)
    return _reduced(F.relu(1 - target * score).square(), reduction)


@block("loss.gaussian_nll", flops="O(n)", memory="O(n)")
def gaussian_nll(
    mean: Float[Tensor, "*shape"],
    target: Float[Tensor, "*shape"],
    std: Float[Tensor, "*#shape"] | float = 1.0,
    *,
    reduction: Reduction = "mean",
) -> Float[Tensor, "..."]:
    r"""The negative log-likelihood of a normal variable, whose standard deviation is given or learned.

    $$ \ell(\mu, y) = \frac{1}{2} \log (2 \pi \sigma^2) + \frac{(y - \mu)^2}{2 \sigma^2} $$

    σ is `std`, positive, one number or one for each entry. For a fixed σ the best μ is that of least squares; the best
    σ is then the root mean square of the errors. `torch.nn.GaussianNLLLoss` takes σ² and leaves out log 2π.

    >>> gaussian_nll(torch.zeros(2), torch.zeros(2), std=1.0)
    tensor(0.9189)
    """
    if not isinstance(std, Tensor) and not std > 0:
        raise GradlabError(f"loss.gaussian_nll: std must be positive, got {std}.")
    _want_shape("loss.gaussian_nll", target, mean.shape)
    std = torch.as_tensor(std, dtype=mean.dtype, device=mean.device)
    return _reduced(0.5 * log(2 * pi) + std.log() + 0.5 * ((target - mean) / std) ** 2, reduction)


@block("loss.poisson_nll", flops="O(n)", memory="O(n)")
def poisson_nll(
    log_rate: Float[Tensor, "*shape"],
    target: Float[Tensor, "*shape"],
    *,
    full: bool = False,
    reduction: Reduction = "mean",
) -> Float[Tensor, "..."]:
    r"""The negative log-likelihood of a count, from the logarithm of its mean.

    $$ \ell(\eta, y) = e^\eta - y \eta + \log y! $$

    No prediction changes log y!, so it is left out unless `full`; then it is exact, where `torch.nn.PoissonNLLLoss` has
    Stirling's approximation. The derivative by η is e^η - y.

    >>> poisson_nll(torch.tensor([0.0, 1.0]), torch.tensor([3.0, 2.0]), full=True, reduction="none")
    tensor([2.7918, 1.4114])
    """
    _want_shape("loss.poisson_nll", target, log_rate.shape)
    losses = torch.exp(log_rate) - target * log_rate
    return _reduced(losses + torch.lgamma(target + 1) if full else losses, reduction)


def _want_shape(block: str, tensor: Tensor, shape: torch.Size, name: str = "target") -> None:
    """What broadcasting would repeat, such as (n) beside (n, 1), is a mistake that no result shows."""
    if tensor.shape != shape:
        raise ShapeError(f"{block}: {name} must have shape {tuple(shape)}, got {tuple(tensor.shape)}.")


def _reduced(losses: Tensor, reduction: Reduction) -> Tensor:
    if reduction == "mean":
        return losses.mean()
    return losses.sum() if reduction == "sum" else losses
