"""Building blocks, one idea per file."""

from gradlab.nn.activations import activations
from gradlab.nn.polynomial import PolynomialFeatures

__all__ = ["PolynomialFeatures", "activations"]
