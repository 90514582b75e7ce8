"""How far a distribution is from another: functions of probabilities along the last axis. 0 log 0 is 0.

Where there is a logarithm, it is that of the base: e for nats, 2 for bits.
"""

import math

from gradlab.scratch import functions
from gradlab.scratch.functions import absolute, where
from gradlab.scratch.tensor import Tensor


def entropy(p: Tensor, base: float = math.e) -> Tensor:
    """H = -Σ p log p."""
    return -(p * log(p, p, base)).sum(-1)


def cross_entropy(p: Tensor, q: Tensor, base: float = math.e) -> Tensor:
    """-Σ p log q."""
    return -(p * log(q, p, base)).sum(-1)


def kl(p: Tensor, q: Tensor, base: float = math.e) -> Tensor:
    """KL(p‖q) = Σ p log(p / q)."""
    return (p * (log(p, p, base) - log(q, p, base))).sum(-1)


def kl_gaussian(mean: Tensor, std: Tensor, other_mean: Tensor, other_std: Tensor, base: float = math.e) -> Tensor:
    """KL(N(μ, σ²)‖N(m, s²)) = Σ log(s/σ) + (σ² + (μ - m)²) / (2s²) - ½."""
    apart = (std**2 + (mean - other_mean) ** 2) / (2 * other_std**2)
    return (functions.log(other_std / std) + apart - 0.5).sum(-1) / math.log(base)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """½ Σ |p - q|."""
    return 0.5 * absolute(p - q).sum(-1)


def lp(p: Tensor, q: Tensor, order: float) -> Tensor:
    """(Σ |p - q|^r)^(1/r)."""
    return (absolute(p - q) ** order).sum(-1) ** (1 / order)


def jensen_shannon(p: Tensor, q: Tensor, base: float = math.e) -> Tensor:
    """½ KL(p‖m) + ½ KL(q‖m) with m = ½ (p + q)."""
    middle = 0.5 * (p + q)
    return 0.5 * (kl(p, middle, base) + kl(q, middle, base))


def mutual_information(joint: Tensor, base: float = math.e) -> Tensor:
    """I = Σ p(x, y) log(p(x, y) / (p(x) p(y))) of a table with a row for each x and a column for each y."""
    return (joint * pmi(joint, base)).sum((-2, -1))


def pmi(joint: Tensor, base: float = math.e) -> Tensor:
    """log(p(x, y) / (p(x) p(y))), where the pair ever occurs; else 0."""
    product = joint.sum(-1, keepdims=True) * joint.sum(-2, keepdims=True)
    return log(joint, joint, base) - log(product, joint, base)


def log(x: Tensor, p: Tensor, base: float = math.e) -> Tensor:
    """log x where p > 0. Elsewhere it is multiplied by 0, so it may be 0, also where x is 0."""
    return functions.log(where(p.value > 0, x, 1.0)) / math.log(base)
