"""Attention with weights that a softmax or a kernel gives."""

from gradlab.verification.families.attention import (
    dots,
    every_kind,
    kernels,
    masks,
    multihead,
    multihead_laws,
    scores,
)  # each enters its checks

__all__ = ["dots", "every_kind", "kernels", "masks", "multihead", "multihead_laws", "scores"]
