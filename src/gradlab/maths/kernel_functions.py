"""Kernels: inner products of examples in a space of features that nobody has to compute."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError, unknown

KernelName = Literal["linear", "rbf", "polynomial", "sigmoid"]
KernelFunction = Callable[[Float[Tensor, "n d"], Float[Tensor, "m d"]], Float[Tensor, "n m"]]

NAMES: tuple[KernelName, ...] = ("linear", "rbf", "polynomial", "sigmoid")

_CHECKED = 400  # examples of whose kernel matrix the eigenvalues are computed
_ROUNDING = 1e-9  # below zero, relative to the largest: eigenvalues of a singular matrix are rounded too


def kernel_function(name: KernelName, *, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0) -> KernelFunction:
    r"""The kernel of that name, as a function of two sets of examples.

    $$ \langle x, y \rangle, \quad e^{-\gamma |x - y|^2}, \quad (\gamma \langle x, y \rangle + c)^p, \quad
       \tanh(\gamma \langle x, y \rangle + c) $$

    c is `coef0` and p is `degree`. The sigmoid is positive definite for few examples and settings, if any.

    >>> kernel_function("polynomial", degree=2, coef0=1.0)(torch.tensor([[2.0]]), torch.tensor([[1.0], [3.0]]))
    tensor([[ 9., 49.]])
    """
    kernels: dict[str, KernelFunction] = {
        "linear": lambda x, y: x @ y.T,
        "rbf": lambda x, y: torch.exp(-gamma * squared_distances(x, y)),
        "polynomial": lambda x, y: (gamma * x @ y.T + coef0) ** degree,
        "sigmoid": lambda x, y: torch.tanh(gamma * x @ y.T + coef0),
    }
    if name not in kernels:
        raise unknown("kernel", str(name), kernels)
    return kernels[name]


def squared_distances(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    """|x - y|² of each pair, by one product of matrices; of an example and itself it is exactly 0 or rounded to it."""
    return (x.square().sum(1)[:, None] + y.square().sum(1) - 2 * x @ y.T).clamp(min=0)


def scale_gamma(
    gamma: float | Literal["scale", "auto"], x: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None = None
) -> float:
    """γ as a number: "scale" is 1 / (d · variance of all entries), "auto" is 1 / d.

    An example of weight 2 counts like two of it.

    >>> scale_gamma("auto", torch.zeros(5, 4)), scale_gamma("scale", torch.tensor([[0.0, 2.0], [4.0, 6.0]]))
    (0.25, 0.1)
    """
    if gamma == "auto":
        return 1 / x.shape[1]
    if gamma == "scale":
        share = torch.full((len(x),), 1 / len(x), dtype=x.dtype) if weights is None else weights / weights.sum()
        variance = float(share @ (x - (share @ x).mean()).square().mean(1))
        return 1 / (x.shape[1] * variance) if variance > 0 else 1.0
    if not isinstance(gamma, (int, float, np.number)) or not 0 < gamma < float("inf"):
        raise GradlabError(f'gamma must be a number above 0, "scale" or "auto", got {gamma!r}.')
    return float(gamma)


def check_positive_definite(kernel: KernelFunction, x: Float[Tensor, "n d"], name: str = "kernel") -> None:
    """Refuse a kernel whose matrix has a negative eigenvalue, of up to 400 examples evenly taken from all.

    Where there is one, the dual problem has no single optimum: what a solver ends with is not what was asked for.
    """
    some = x[torch.linspace(0, len(x) - 1, min(len(x), _CHECKED)).long()]
    matrix = kernel(some, some)
    if not bool(matrix.isfinite().all()):
        raise GradlabError(f"The {name} kernel of these examples is not finite. Standardise them, or lower gamma.")
    if float((matrix - matrix.T).abs().max()) > _ROUNDING * float(matrix.abs().max()):
        raise GradlabError(f"The {name} kernel is not symmetric: k(x, y) must be k(y, x).")
    values = torch.linalg.eigvalsh(matrix)
    if float(values[0]) < -_ROUNDING * len(some) * float(values.abs().max()):
        raise NotPositiveDefinite(name, f"the matrix of {len(some)} of them has the eigenvalue {float(values[0]):.3g}")


class NotPositiveDefinite(GradlabError):
    """A kernel that is no inner product."""

    def __init__(self, name: str, shown: str):
        super().__init__(
            f"The {name} kernel is not positive definite on these examples: {shown}, so that the support vector "
            "machine has no single optimum. Take another kernel (rbf is always positive definite), or other gamma and "
            "coef0."
        )
