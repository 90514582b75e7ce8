"""Probability: discrete tables, densities, normal variables, limits and likelihoods."""

from gradlab.maths.probability.convergence import (
    cdf,
    ky_fan_distance,
    levy_distance,
    lp_error,
    probability_apart,
    probability_ever_apart,
    typewriter,
)
from gradlab.maths.probability.exponential_family import ExponentialFamily
from gradlab.maths.probability.grid import GridDensity
from gradlab.maths.probability.gumbel import fit_gumbel, gumbel_nll
from gradlab.maths.probability.joint import JointTable, bayes
from gradlab.maths.probability.limits import kolmogorov_distance, random_walks, running_mean, scaled_sum, walk_table
from gradlab.maths.probability.moments import by_parts, isserlis, normal_mean, pairings
from gradlab.maths.probability.normal import Normal

__all__ = [
    "ExponentialFamily",
    "GridDensity",
    "JointTable",
    "Normal",
    "bayes",
    "by_parts",
    "cdf",
    "fit_gumbel",
    "gumbel_nll",
    "isserlis",
    "kolmogorov_distance",
    "ky_fan_distance",
    "levy_distance",
    "lp_error",
    "normal_mean",
    "pairings",
    "probability_apart",
    "probability_ever_apart",
    "random_walks",
    "running_mean",
    "scaled_sum",
    "typewriter",
    "walk_table",
]
