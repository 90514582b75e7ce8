"""What is known of the inputs of layers during a training."""

from math import sqrt

import torch

from gradlab.maths.layer_inputs import batch_norm_noise, distribution_shift
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

subject("maths.distribution_shift")(distribution_shift)
subject("maths.batch_norm_noise")(batch_norm_noise)


@law("maths.distribution_shift", fault=lambda before, after: (before.mean(0) - after.mean(0)).square().mean())
def it_is_half_the_square_of_a_move_in_standard_deviations_whatever_the_units(case: Case) -> float:
    """$x \\to x + c \\sigma$ moves by $c^2 / 2$, also after $x \\to a x + b$"""
    features = case.integer("features", 1, 4)
    x, moves = case.distinct("x", 12, features).detach(), case.tensor("c", features).detach()
    moved = x + moves * x.std(0, correction=0)
    a, b = case.real("a", 0.1, 10), case.real("b", -5, 5)
    shift, wanted = case.build(), moves.square().mean() / 2
    return difference(torch.stack([shift(x, moved), shift(a * x + b, a * moved + b)]), torch.stack([wanted, wanted]))


def _of_every_size(value: float, batch_size: int, batches: int, generator: torch.Generator) -> tuple[float, float]:
    return batch_norm_noise(value, 8, batches, generator)


@law("maths.batch_norm_noise", fault=_of_every_size, tolerance=5.0, most_cases=5)
def its_variance_falls_with_the_batch_size(case: Case) -> float:
    """$\\mathrm{Var} = (1 + x^2 / 2) / B$ up to terms in $B^{-2}$: standard errors away"""
    value, size, batches = case.real("x", -2, 2), case.integer("B", 50, 200), 4000
    variance: float = case.build()(value, size, batches, case.generator("batches"))[1]
    ratio = variance * size / (1 + value**2 / 2)
    allowed = (4 + value**2) / size  # of the terms that are left out
    return max(0.0, abs(ratio - 1) - allowed) / sqrt(2 / batches)
