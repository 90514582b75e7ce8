"""How random variables come close to each other: almost surely, in L^p, in probability, in distribution.

Variables are functions on a finite probability space of equally likely outcomes, or draws: the last axis of a tensor.
Two variables on the same space belong together outcome by outcome, but for distances of their distributions.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor


@takes_arrays
def lp_error(
    x: Float[Tensor, "*batch outcomes"], y: Float[Tensor, "*batch outcomes"], order: float = 2.0
) -> Float[Tensor, "*batch"]:
    r"""The distance in L^p: convergence in mean, in mean square, …

    $$ \| X - Y \|_p = \left( E \, |X - Y|^p \right)^{1/p} $$

    >>> lp_error(torch.tensor([0.0, 3.0]), torch.tensor([0.0, 1.0]), order=1)
    tensor(1.)
    """
    if not order >= 1:
        raise GradlabError(f"lp_error: the order must be at least 1, got {order}: below, it is no distance.")
    return (tensor(x) - tensor(y)).abs().pow(order).mean(-1).pow(1 / order)


@takes_arrays
def probability_apart(
    x: Float[Tensor, "*batch outcomes"], y: Float[Tensor, "*batch outcomes"], distance: float
) -> Float[Tensor, "*batch"]:
    r"""How likely two variables are further apart than this: convergence in probability.

    $$ P[\,|X - Y| > \varepsilon\,] $$

    >>> probability_apart(torch.tensor([0.0, 3.0]), torch.tensor([0.0, 1.0]), 0.5)
    tensor(0.5000)
    """
    x = tensor(x)
    apart = (x - tensor(y)).abs() > distance
    return apart.to(x.dtype).mean(-1)


@takes_arrays
def probability_ever_apart(
    sequence: Float[Tensor, "*batch times outcomes"], limit: Float[Tensor, "*batch outcomes"], distance: float
) -> Float[Tensor, "*batch times"]:
    r"""How likely a sequence is further from its limit than this at some time from n on, for each n: convergence almost
    surely is that this falls to 0.

    $$ P\left[\, \sup_{m \ge n} |X_m - X| > \varepsilon \,\right] $$

    The sequence that is given ends, and with it the supremum: what comes later is not known.

    >>> probability_ever_apart(torch.tensor([[0.0, 9.0], [0.0, 0.0], [7.0, 0.0], [0.0, 0.0]]), torch.zeros(2), 0.5)
    tensor([1.0000, 0.5000, 0.5000, 0.0000])
    """
    sequence = tensor(sequence)
    apart = (sequence - tensor(limit)[..., None, :]).abs() > distance
    return apart.to(sequence.dtype).flip(-2).cummax(-2).values.flip(-2).mean(-1)


@takes_arrays
def ky_fan_distance(
    x: Float[Tensor, "*batch outcomes"], y: Float[Tensor, "*batch outcomes"]
) -> Float[Tensor, "*batch"]:
    r"""The distance of convergence in probability: the least ε that is exceeded no more often than ε.

    $$ \inf \{ \varepsilon \ge 0 : P[\,|X - Y| > \varepsilon\,] \le \varepsilon \} $$

    >>> ky_fan_distance(torch.tensor([0.0, 0.0, 0.0, 5.0]), torch.zeros(4))
    tensor(0.2500)
    """
    # With k of n outcomes left above it, ε is the (k + 1)-th largest distance, or k / n where that is more.
    apart = (tensor(x) - tensor(y)).abs().sort(-1, descending=True).values
    above = torch.arange(apart.shape[-1] + 1, dtype=apart.dtype, device=apart.device) / apart.shape[-1]
    return torch.maximum(torch.nn.functional.pad(apart, (0, 1)), above).amin(-1)


@takes_arrays
def levy_distance(x: Float[Tensor, " outcomes"], y: Float[Tensor, " others"]) -> Float[Tensor, ""]:
    r"""Lévy's distance of two distributions on the line, that of convergence in distribution.

    $$ \inf \{ \varepsilon \ge 0 : F(t - \varepsilon) - \varepsilon \le G(t) \le F(t + \varepsilon) + \varepsilon
       \text{ for all } t \} $$

    F and G are the distribution functions of equally likely values, which may be of different numbers. It is the
    side of the largest square between their graphs, found by bisection.

    >>> levy_distance(torch.tensor([0.0]), torch.tensor([0.3]))
    tensor(0.3000)
    """
    x, y = tensor(x).sort().values, tensor(y).sort().values
    low, high = x.new_zeros(()), x.new_ones(())  # of distribution functions, none is further than 1
    if _within(x, y, low):
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _within(x, y, middle) else (middle, high)
    return high


def _within(x: Tensor, y: Tensor, distance: Tensor) -> bool:
    return all(
        bool((cdf(a, t) <= cdf(b, t + distance * (1 + 1e-12)) + distance * (1 + 1e-12)).all())
        for a, b, t in ((x, y, x), (y, x, y))  # a distribution function rises at its own values alone
    )


@takes_arrays
def cdf(values: Float[Tensor, " outcomes"], t: Float[Tensor, "*points"]) -> Float[Tensor, "*points"]:
    r"""The distribution function of equally likely values, in rising order: the share of those that are at most t.

    >>> cdf(torch.tensor([1.0, 2.0, 2.0, 4.0]), torch.tensor([0.0, 2.0, 3.0]))
    tensor([0.0000, 0.7500, 0.7500])
    """
    values = tensor(values)
    return torch.searchsorted(values, tensor(t).to(values), right=True).to(values.dtype) / len(values)


def typewriter(n: int, omega: Float[Tensor, "*outcomes"]) -> Float[Tensor, "*outcomes"]:
    r"""The n-th variable of the typewriter sequence, n = 0, 1, …, at outcomes ω in [0, 1).

    $$ X_n = 1_{[j/k, \, (j+1)/k)}, \qquad n = \tfrac{1}{2} k (k - 1) + j, \quad 0 \le j < k $$

    Sweep k = 1, 2, … goes over [0, 1) in k steps. It converges to 0 in probability and in every L^p, since a step is
    1/k long, and nowhere almost surely, since each sweep hits every ω once.

    >>> [typewriter(n, torch.tensor([0.4])).item() for n in range(10)]
    [1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    """
    k, j = sweep(n)
    return ((tensor(omega) * k).floor() == j).to(tensor(omega).dtype)


def sweep(n: int) -> tuple[int, int]:
    """In which sweep k the n-th variable of the typewriter sequence is, and in which of its k steps.

    >>> [sweep(n) for n in range(6)]
    [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
    """
    if n < 0:
        raise GradlabError(f"typewriter: the sequence begins with n = 0, got {n}.")
    k = 1
    while n >= k:
        n, k = n - k, k + 1
    return k, n
