"""Sums of exponentials: an algebra of functions that is dense in the continuous ones, by Stone and Weierstrass."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.expressiveness.modulus import Function


@dataclass(frozen=True)
class ExponentialSum:
    r"""A sum of exponentials. Sums and products of such are such again.

    $$ f(x) = \sum_i a_i \, e^{\langle \nu_i, x \rangle}, \qquad
       e^{\langle \nu, x \rangle} \, e^{\langle \mu, x \rangle} = e^{\langle \nu + \mu, x \rangle} $$

    With ν = 0 the constants are among them, and e^⟨y - x, ·⟩ tells x from y.

    >>> growth = ExponentialSum(torch.tensor([[1.0]]), torch.tensor([2.0]))
    >>> square = growth * growth
    >>> square.exponents.tolist(), square.weights.tolist()
    ([[2.0]], [4.0])
    """

    exponents: Float[Tensor, "terms d"]
    weights: Float[Tensor, " terms"]

    def __post_init__(self) -> None:
        if self.exponents.ndim != 2 or self.weights.shape != self.exponents.shape[:1]:
            shapes = f"{tuple(self.exponents.shape)} and {tuple(self.weights.shape)}"
            raise GradlabError(f"A sum of exponentials has exponents (terms, d) and weights (terms), got {shapes}.")

    def __call__(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        return torch.exp(x @ self.exponents.T) @ self.weights

    def __add__(self, other: "ExponentialSum") -> "ExponentialSum":
        self._check_inputs(other)
        return ExponentialSum(torch.cat([self.exponents, other.exponents]), torch.cat([self.weights, other.weights]))

    def __mul__(self, other: "ExponentialSum") -> "ExponentialSum":
        r"""The product of two sums, which is a sum of exponentials again.

        $$ e^{\langle \nu, x \rangle} \, e^{\langle \mu, x \rangle} = e^{\langle \nu + \mu, x \rangle} $$
        """
        self._check_inputs(other)
        exponents = self.exponents[:, None] + other.exponents
        return ExponentialSum(exponents.flatten(0, 1), torch.outer(self.weights, other.weights).flatten())

    def _check_inputs(self, other: "ExponentialSum") -> None:
        if self.exponents.shape[1] != other.exponents.shape[1]:
            counts = f"{self.exponents.shape[1]} and {other.exponents.shape[1]} inputs"
            raise GradlabError(f"Only functions of as many inputs can be added and multiplied, got {counts}.")


def separating(x: Float[Tensor, " d"], y: Float[Tensor, " d"]) -> ExponentialSum:
    """An exponential that has different values at two points; there is none for a point and itself.

    >>> f = separating(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 3.0]))
    >>> bool(f(torch.tensor([0.0, 1.0])) < f(torch.tensor([0.0, 3.0])))
    True
    """
    if torch.equal(x, y):
        raise GradlabError("The two points are the same: no function separates them.")
    return ExponentialSum((y - x)[None] / (y - x).norm(), torch.ones(1, dtype=x.dtype))


def bernstein(
    f: Function, degree: int, low: float = 0.0, high: float = 1.0, through: Function = torch.exp
) -> Callable[[Tensor], Tensor]:
    r"""A polynomial in φ that is near a continuous function on an interval, nearer the higher its degree.

    $$ B_n f(x) = \sum_{k=0}^{n} f(x_k) \binom{n}{k} u^k (1 - u)^{n-k}, \qquad
       u = \frac{\varphi(x) - \varphi(a)}{\varphi(b) - \varphi(a)}, \quad u(x_k) = \frac{k}{n} $$

    With φ = exp it lies in the span of 1, e^x, …, e^nx. φ must increase, so that it tells points apart; with f as a
    function of u, the error is at most 5/4 of what that varies over a distance of n^-½ (Popoviciu 1935).

    >>> near = bernstein(lambda x: (x - 0.5).abs(), 400)
    >>> x = torch.linspace(0, 1, 101, dtype=torch.float64)
    >>> bool((near(x) - (x - 0.5).abs()).abs().max() < 0.025)
    True
    """
    if degree < 1:
        raise GradlabError(f"degree must be at least 1, got {degree}.")
    if not low < high:
        raise GradlabError(f"The interval must have low < high, got {low} and {high}.")
    ends = through(torch.tensor([low, high], dtype=torch.float64))

    def unit(x: Tensor) -> Tensor:
        return (through(x) - ends[0]) / (ends[1] - ends[0])

    k = torch.arange(degree + 1, dtype=torch.float64)
    values = f(_inverse(unit, k / degree, low, high)).detach()
    choose = torch.lgamma(k[-1] + 1) - torch.lgamma(k + 1) - torch.lgamma(k[-1] - k + 1)

    def polynomial(x: Tensor) -> Tensor:
        u = unit(x)[..., None]
        return torch.exp(choose + torch.xlogy(k, u) + torch.special.xlog1py(k[-1] - k, -u)) @ values

    return polynomial


def _inverse(increasing: Function, values: Tensor, low: float, high: float) -> Tensor:
    """Where an increasing function has these values, by bisection."""
    below, above = torch.full_like(values, low), torch.full_like(values, high)
    for _ in range(60):
        middle = (below + above) / 2
        less = increasing(middle) < values
        below, above = torch.where(less, middle, below), torch.where(less, above, middle)
    return (below + above) / 2
