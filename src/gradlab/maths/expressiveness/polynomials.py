"""Networks whose activation is a polynomial are polynomials, and no width brings them nearer to other functions."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.maths.expressiveness.modulus import Function, spread_evenly

_POINTS = 4001
_ROUNDS = 50


class PolynomialActivation(nn.Module):
    r"""An activation that is a polynomial.

    $$ \sigma(z) = c_0 + c_1 z + \dots + c_N z^N $$

    >>> PolynomialActivation([1.0, 0.0, 2.0])(torch.tensor([0.0, 3.0])).tolist()
    [1.0, 19.0]
    """

    def __init__(self, coefficients: Sequence[float]):
        super().__init__()
        if not len(coefficients):
            raise GradlabError("A polynomial needs at least one coefficient.")
        self.coefficients = tuple(float(c) for c in coefficients)

    def forward(self, z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        value = torch.zeros_like(z)
        for c in reversed(self.coefficients):
            value = value * z + c
        return value


def network_polynomial(network: nn.Sequential) -> Float[Tensor, "outputs powers"]:
    r"""The coefficients of what a network (dense, polynomial, dense) of one input computes.

    $$ \sum_i a_i \, \sigma(w_i x + b_i) = \sum_{k=0}^{N} \Big( \sum_i a_i \sum_{n=k}^{N} c_n \tbinom{n}{k}
       w_i^k \, b_i^{n-k} \Big) x^k $$

    However many units there are, the degree is at most that of σ.

    >>> net = nn.Sequential(nn.Linear(1, 50), PolynomialActivation([0, 0, 1]), nn.Linear(50, 1))
    >>> network_polynomial(net).shape
    torch.Size([1, 3])
    """
    first, activation, last = network
    if not (
        isinstance(first, nn.Linear)
        and isinstance(activation, PolynomialActivation)
        and isinstance(last, nn.Linear)
        and first.in_features == 1
    ):
        raise GradlabError(
            "network_polynomial reads a dense layer of one input, PolynomialActivation, and a dense layer."
        )
    w, b = first.weight[:, 0], first.bias
    composed = torch.zeros(len(w), len(activation.coefficients), dtype=w.dtype)  # c(w x + b), by Horner's rule
    for c in reversed(activation.coefficients):
        composed = b[:, None] * composed + w[:, None] * composed.roll(1, -1)
        composed[:, 0] += c
    out = last.weight @ composed
    out[:, 0] += last.bias
    return out.detach()


class BestPolynomial(NamedTuple):
    """The polynomial of a degree that is nearest to a function on an interval."""

    coefficients: Tensor
    """Of Chebyshev's polynomials of x scaled to [-1, 1]."""
    error: float
    """The largest."""
    bound: float
    """What no polynomial of this degree can be better than."""


def best_polynomial(f: Function, degree: int, low: float = -1.0, high: float = 1.0) -> BestPolynomial:
    r"""The polynomial with the least largest error, by Remez' exchange, and the proof that there is no better one.

    $$ p(x_i) + (-1)^i h = f(x_i), \quad i = 0, \dots, N + 1 \;\;\Rightarrow\;\;
       \min_{\deg q \le N} \, \max_x |f(x) - q(x)| \ge |h| $$

    The points are moved to where the error is largest until it is |h| itself (de la Vallée Poussin 1910).

    >>> best = best_polynomial(torch.abs, 2)
    >>> round(best.error, 4), round(best.bound, 4)
    (0.125, 0.125)
    """
    if degree < 0:
        raise GradlabError(f"degree must not be negative, got {degree}.")
    x = spread_evenly(low, high, _POINTS)
    y, unit = f(x).detach(), spread_evenly(-1.0, 1.0, _POINTS)
    powers = torch.cos(torch.arange(degree + 1) * torch.acos(unit)[:, None])
    signs = (-1.0) ** torch.arange(degree + 2, dtype=torch.float64)
    even = (1 - torch.cos(torch.pi * torch.arange(degree + 2) / (degree + 1))) / 2
    chosen = (even**1.05 * (_POINTS - 1)).round().long()  # not symmetric: there, h may be 0 without reason
    best = BestPolynomial(torch.zeros(degree + 1), torch.inf, 0.0)
    for _ in range(_ROUNDS):
        *coefficients, h = torch.linalg.solve(torch.cat([powers[chosen], signs[:, None]], 1), y[chosen])
        off = y - powers @ torch.stack(coefficients)
        best = BestPolynomial(torch.stack(coefficients), float(off.abs().max()), abs(float(h)))
        if best.error <= best.bound * (1 + 1e-9) + 1e-12:
            break
        chosen = _exchanged(off, degree + 2)
        if len(chosen) < degree + 2:  # f is a polynomial of this degree, up to rounding
            break
    return best


def _exchanged(off: Tensor, count: int) -> Tensor:
    """Where the error is largest in each stretch of one sign; of more than are wanted, small ones are left out.

    Signs alternate still: one is left out at an end, or two neighbours. Leaving out ends alone may go round in circles.
    """
    starts = [0, *((off[1:].sign() != off[:-1].sign()).nonzero().flatten() + 1).tolist(), len(off)]
    ends = [i + int(off[i:j].abs().argmax()) for i, j in pairwise(starts)]
    sizes = off.abs().tolist()
    while len(ends) > count:
        least = min(range(len(ends)), key=lambda k: sizes[ends[k]])
        if 0 < least < len(ends) - 1 and len(ends) > count + 1:
            beside = min(least - 1, least + 1, key=lambda k: sizes[ends[k]])
            del ends[min(least, beside) : max(least, beside) + 1]
        else:
            ends.pop(0 if sizes[ends[0]] < sizes[ends[-1]] else -1)
    return torch.tensor(ends)
