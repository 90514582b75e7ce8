"""Normalisation over batches, vectors and groups."""

from gradlab.verification.families.normalisation import batches, groups, vectors  # each enters its checks

__all__ = ["batches", "groups", "vectors"]
