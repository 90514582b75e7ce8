"""Losses."""

from gradlab.verification.families.losses import laws, likelihood_laws, losses  # each enters its checks

__all__ = ["laws", "likelihood_laws", "losses"]
