"""Linear and structured maps: dense, convolution, pooling, filters."""
