"""Recurrent cells, and blocks over sequences."""

from gradlab.verification.families.recurrent import cells, sequences  # each enters its checks

__all__ = ["cells", "sequences"]
