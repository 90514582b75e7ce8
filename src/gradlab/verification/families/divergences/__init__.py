"""Entropy, divergences and distances of distributions."""

from gradlab.verification.families.divergences import (
    distance_laws,
    divergences,
    entropy_laws,
    laws,
)  # each enters its checks

__all__ = ["distance_laws", "divergences", "entropy_laws", "laws"]
