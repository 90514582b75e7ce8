"""Linear and structured maps: dense, convolution, pooling, filters."""

from gradlab.verification.families.maps import convolution, dense, filters, pooling  # each enters its checks

__all__ = ["convolution", "dense", "filters", "pooling"]
