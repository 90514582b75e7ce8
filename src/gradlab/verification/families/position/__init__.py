"""Positions, added to vectors, turning them, or added to scores."""

from gradlab.verification.families.position import codes, laws  # each enters its checks

__all__ = ["codes", "laws"]
