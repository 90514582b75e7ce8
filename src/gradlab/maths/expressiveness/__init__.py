"""What networks can be: exact constructions, approximation to a wanted error, and the number of affine pieces."""
