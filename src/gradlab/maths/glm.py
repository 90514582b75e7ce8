"""Generalised linear models with canonical links, fitted by Newton's method (iteratively reweighted least squares)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError, unknown
from gradlab.maths.arrays import tensor
from gradlab.maths.optimisation.newton import newton
from gradlab.maths.separation import check_optimum_exists
from gradlab.nn import losses

FamilyName = Literal["gaussian", "bernoulli", "categorical", "poisson"]

_EXTREME = 8.0  # linear predictors beyond which it is asked whether there is an optimum at all


@dataclass(frozen=True)
class Family:
    """What belongs to a distribution: its likelihood, and mean and (co)variance as functions of η."""

    nll: Callable[..., Tensor]
    """Of η and y, one number for each example."""
    mean: Callable[[Tensor], Tensor]
    """The inverse link, (n, k) to (n, k)."""
    variance: Callable[[Tensor], Tensor]
    """Of the mean, (n, k) to (n, k, k)."""


def _softmax(eta: Tensor) -> Tensor:
    return F.pad(eta, (1, 0)).softmax(-1)[..., 1:]


def _categorical_nll(eta: Tensor, y: Tensor) -> Tensor:
    """The first class has the logit 0, and no column in y."""
    return losses.cross_entropy(F.pad(eta, (1, 0)), torch.cat([1 - y.sum(-1, True), y], -1), reduction="none")


def _each(loss: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda eta, y: partial(loss, reduction="none")(eta, y).sum(-1)


FAMILIES: dict[FamilyName, Family] = {
    "gaussian": Family(_each(losses.gaussian_nll), lambda eta: eta, lambda mean: torch.ones_like(mean)[..., None]),
    "bernoulli": Family(_each(losses.binary_cross_entropy), torch.sigmoid, lambda p: (p * (1 - p))[..., None]),
    "poisson": Family(_each(partial(losses.poisson_nll, full=True)), torch.exp, lambda rate: rate[..., None]),
    "categorical": Family(_categorical_nll, _softmax, lambda p: torch.diag_embed(p) - p[..., None] * p[..., None, :]),
}


@dataclass(frozen=True)
class LinearModel:
    r"""A generalised linear model, $E[Y \mid x] = g^{-1}(x^\top \beta + b)$, with g the canonical link of a family."""

    family: FamilyName
    weight: Float[Tensor, "features outputs"]
    """Of several classes, the first has none: its logit is 0."""
    bias: Float[Tensor, " outputs"]
    weight_error: Float[Tensor, "features outputs"]
    """Standard errors, from the curvature of the likelihood."""
    bias_error: Float[Tensor, " outputs"]
    nll: float
    """Of all examples together; in the Gaussian family with the best variance."""
    steps: int
    """Of Newton's method."""

    def mean(self, x: Any) -> Float[Tensor, "n outputs"]:
        """What is expected of y: of several classes, the probability of each but the first."""
        return FAMILIES[self.family].mean(tensor(x) @ self.weight + self.bias)


def fit_glm(x: Any, y: Any, family: FamilyName) -> LinearModel:
    r"""Weights and bias of maximum likelihood, without a penalty.

    $$ \beta \leftarrow \beta + (X^\top W X)^{-1} X^\top (y - \mu), \qquad \mu = g^{-1}(X \beta), \quad
       W = \mathrm{Var}[Y \mid \mu] $$

    `x` is (n, features); `y` has n numbers: any in the Gaussian family, 0 and 1 for Bernoulli, counts for Poisson,
    classes 0, 1, … for categorical. X has a column of ones for the bias. There is one optimum, or none: separable
    classes and columns that depend on each other are refused. A training of `model=linear` with `train.optimizer=lbfgs`
    on the full batch ends at the same weights: the task is `regress`, `bernoulli`, `classify` or `poisson`.

    >>> model = fit_glm([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], "bernoulli")
    >>> model.weight, model.bias
    (tensor([[0.9082]], dtype=torch.float64), tensor([-1.3623], dtype=torch.float64))
    """
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    x = tensor(x)
    targets = _targets(torch.as_tensor(y).to(x), family)
    design = _design(x, len(targets))
    shape, own = (design.shape[1], targets.shape[1]), FAMILIES[family]

    def nll(beta: Tensor) -> Tensor:
        return own.nll(design @ beta.reshape(shape), targets).mean()

    def derivatives(beta: Tensor) -> tuple[Tensor, Tensor]:
        mean = own.mean(design @ beta.reshape(shape))
        curvature = torch.einsum("nkl,np,nq->pkql", own.variance(mean), design, design)
        return (design.mT @ (mean - targets)).flatten() / len(x), curvature.reshape(2 * (beta.numel(),)) / len(x)

    way = newton(nll, x.new_zeros(shape).flatten(), tolerance=0.0, derivatives=derivatives).points
    beta = way[-1].reshape(shape)
    eta = design @ beta
    if family != "gaussian" and float(eta.abs().max()) > _EXTREME:
        check_optimum_exists(design, targets, family)

    variances = torch.linalg.inv(len(x) * derivatives(way[-1])[1]).diagonal()
    total = float(own.nll(eta, targets).sum())
    if family == "gaussian":
        squares = (eta - targets).square().sum()
        variances = variances * squares / max(len(x) - design.shape[1], 1)
        total = float(losses.gaussian_nll(eta, targets, (squares / len(x)).sqrt(), reduction="sum"))
    errors = variances.sqrt().reshape(shape)
    return LinearModel(family, beta[1:], beta[0], errors[1:], errors[0], total, len(way) - 1)


def _design(x: Tensor, rows: int) -> Tensor:
    if x.ndim != 2 or len(x) != rows or not bool(x.isfinite().all()):
        raise GradlabError(f"fit_glm: x must be a table of finite numbers with a row for each of the {rows} targets.")
    design = F.pad(x, (1, 0), value=1.0)
    rank = int(torch.linalg.matrix_rank(design))
    if rank < design.shape[1]:
        raise GradlabError(
            f"fit_glm: of {design.shape[1]} columns, with the constant one for the bias, {rank} are independent, so "
            "that many weights fit equally well. Leave out columns that follow from others."
        )
    return design


def _targets(y: Tensor, family: FamilyName) -> Tensor:
    """A column of numbers, or of several classes a column for each but the first."""
    whole = bool((y == y.round()).all())
    right = {
        "gaussian": True,
        "bernoulli": whole and bool(((y == 0) | (y == 1)).all()),
        "poisson": whole and bool((y >= 0).all()),
        "categorical": whole and bool((y >= 0).all()),
    }
    if y.ndim != 1 or not len(y) or not bool(y.isfinite().all()) or not right[family]:
        wanted = {"gaussian": "finite numbers", "bernoulli": "0 and 1", "poisson": "counts", "categorical": "classes"}
        raise GradlabError(f"fit_glm: targets of the {family} family are one row of {wanted[family]}.")
    if family != "categorical":
        return y[:, None]
    if int(y.max()) == 0 or int(y.max()) >= len(y) or not bool((torch.bincount(y.long()) > 0).all()):
        raise GradlabError("fit_glm: classes are the numbers 0, 1, …, at least two, and each has an example.")
    return F.one_hot(y.long()).to(y.dtype)[:, 1:]
