"""Attention at linear cost, and the features it is made of."""

from gradlab.verification.families.linear_attention import (
    attention,
    attention_laws,
    feature_laws,
    features,
)  # each enters its checks

__all__ = ["attention", "attention_laws", "feature_laws", "features"]
