"""Attention with weights that a softmax or a kernel gives."""

from gradlab.verification.families.attention import kernels, kinds, masks, multihead  # each enters its checks

__all__ = ["kernels", "kinds", "masks", "multihead"]
