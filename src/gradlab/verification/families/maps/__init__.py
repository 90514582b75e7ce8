"""Linear and structured maps: dense, convolution, pooling, filters."""

from gradlab.verification.families.maps import (
    convolution,
    convolution_laws,
    dense,
    filters,
    pooling,
)  # each enters its checks

__all__ = ["convolution", "convolution_laws", "dense", "filters", "pooling"]
